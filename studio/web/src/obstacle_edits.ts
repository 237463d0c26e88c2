// New obstacles, and obstacles at another position.
import type { Obstacle } from './state';

export const round = (v: number[]) => v.map((x) => Math.round(x * 1e6) / 1e6);

/** The obstacle with its center at a point. */
export function moveObstacle(obstacle: Obstacle, to: number[]): Obstacle {
  const { from, to: end, motion = [{ time: 0 }] } = obstacle;
  const move = (v: number[], by: (k: number) => number) => round(v.map((x, k) => x + by(k)));
  switch (obstacle.shape) {
    case 'sphere':
    case 'box':
      return { ...obstacle, center: round(to) };
    case 'plane':
      return { ...obstacle, point: round(to) };
    case 'mesh': { // where it was made, moved; further keys of a motion keep their distance from the first
      const first = motion[0].move ?? [0, 0, 0];
      return { ...obstacle, motion: motion.map((key) => ({ ...key, move: move(key.move ?? [0, 0, 0], (k) => to[k] - first[k]) })) };
    }
    default: {
      if (!from || !end) return obstacle;
      const by = (k: number) => to[k] - (from[k] + end[k]) / 2;
      return { ...obstacle, from: move(from, by), to: move(end, by) };
    }
  }
}

/** In front of the shape, a little to the side; planes lie under it. */
export function newObstacle(shape: Obstacle['shape'], neutral: Float32Array, diagonal: number): Obstacle {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  neutral.forEach((x, i) => {
    low[i % 3] = Math.min(low[i % 3], x);
    high[i % 3] = Math.max(high[i % 3], x);
  });
  const c = low.map((x, k) => (x + high[k]) / 2);
  const r = Math.round(diagonal * 0.08 * 1e4) / 1e4;
  const at = round([c[0] + diagonal * 0.12, c[1], high[2] + r * 0.4]);
  switch (shape) {
    case 'box':
      return { shape, name: 'box', center: at, half: [r, r, r] };
    case 'plane':
      return { shape, name: 'plane', point: round([c[0], low[1], c[2]]), normal: [0, 1, 0] };
    case 'capsule':
    case 'cylinder':
      return { shape, name: shape === 'capsule' ? 'capsule' : 'rod', from: [at[0] - 2 * r, at[1], at[2]], to: [at[0] + 2 * r, at[1], at[2]], radius: r / 2 };
    default:
      return { shape: 'sphere', name: 'ball', center: at, radius: r };
  }
}
