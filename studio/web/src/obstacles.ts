// Obstacles of the scene as things to see and move.
import * as THREE from 'three';
import { meshes, type Obstacle } from './state';

const material = (selected: boolean) =>
  new THREE.MeshStandardMaterial({
    color: selected ? 0xdf8a66 : 0x8d98a6, roughness: 0.45, transparent: true, opacity: selected ? 0.72 : 0.62,
    side: THREE.DoubleSide, depthWrite: false,
  });

const vector = (list: number[] | undefined) => new THREE.Vector3(...((list ?? [0, 0, 0]) as [number, number, number]));

export function obstacleMesh(obstacle: Obstacle, diagonal: number, selected: boolean): THREE.Mesh | null {
  if (obstacle.enabled === false) return null;
  const up = new THREE.Vector3(0, 1, 0);
  let geometry: THREE.BufferGeometry;
  const position = new THREE.Vector3();
  const turn = new THREE.Quaternion();
  switch (obstacle.shape) {
    case 'sphere':
      geometry = new THREE.SphereGeometry(obstacle.radius, 48, 32);
      position.copy(vector(obstacle.center));
      break;
    case 'box': {
      const half = obstacle.half ?? [1, 1, 1];
      geometry = new THREE.BoxGeometry(2 * half[0], 2 * half[1], 2 * half[2]);
      position.copy(vector(obstacle.center));
      break;
    }
    case 'plane':
      geometry = new THREE.PlaneGeometry(1.6 * diagonal, 1.6 * diagonal);
      position.copy(vector(obstacle.point));
      turn.setFromUnitVectors(new THREE.Vector3(0, 0, 1), vector(obstacle.normal).normalize());
      break;
    case 'capsule':
    case 'cylinder': {
      const from = vector(obstacle.from), to = vector(obstacle.to);
      const axis = to.clone().sub(from);
      geometry =
        obstacle.shape === 'capsule'
          ? new THREE.CapsuleGeometry(obstacle.radius, axis.length(), 12, 32)
          : new THREE.CylinderGeometry(obstacle.radius, obstacle.radius, axis.length(), 40);
      position.addVectors(from, to).multiplyScalar(0.5);
      turn.setFromUnitVectors(up, axis.normalize());
      break;
    }
    case 'mesh': {
      const found = meshes.value.get(obstacle.file ?? '');
      if (!found) return null;
      geometry = new THREE.BufferGeometry();
      geometry.setAttribute('position', new THREE.BufferAttribute(found.positions, 3));
      geometry.setIndex(new THREE.BufferAttribute(found.triangles, 1));
      geometry.computeVertexNormals();
      position.copy(vector(obstacle.motion?.[0].move));
      break;
    }
    default:
      return null;
  }
  const mesh = new THREE.Mesh(geometry, material(selected));
  mesh.position.copy(position);
  mesh.quaternion.copy(turn);
  mesh.renderOrder = 2;
  return mesh;
}

const round = (v: THREE.Vector3) => v.toArray().map((x) => Math.round(x * 1e6) / 1e6);

function moved(motion: NonNullable<Obstacle['motion']>, to: THREE.Vector3) {
  const by = to.clone().sub(vector(motion[0].move));
  return motion.map((key) => ({ ...key, move: round(vector(key.move).add(by)) }));
}

/** The obstacle at the place of its mesh. */
export function placeObstacle(obstacle: Obstacle, object: THREE.Object3D): Obstacle {
  const at = object.position;
  switch (obstacle.shape) {
    case 'sphere':
    case 'box':
      return { ...obstacle, center: round(at) };
    case 'mesh': // where it was made, moved; further keys of a motion keep their distance from the first
      return { ...obstacle, motion: moved(obstacle.motion ?? [{ time: 0 }], at) };
    case 'plane':
      return { ...obstacle, point: round(at), normal: round(new THREE.Vector3(0, 0, 1).applyQuaternion(object.quaternion)) };
    default: {
      const length = vector(obstacle.to).distanceTo(vector(obstacle.from));
      const axis = new THREE.Vector3(0, length / 2, 0).applyQuaternion(object.quaternion);
      return { ...obstacle, from: round(at.clone().sub(axis)), to: round(at.clone().add(axis)) };
    }
  }
}

/** The obstacle with its center at a point. */
export function moveObstacle(obstacle: Obstacle, to: number[]): Obstacle {
  const stand = obstacleMesh({ ...obstacle, enabled: true }, 1, false) ?? new THREE.Object3D();
  stand.position.set(to[0], to[1], to[2]);
  return placeObstacle(obstacle, stand);
}

export function newObstacle(shape: Obstacle['shape'], neutral: Float32Array, diagonal: number): Obstacle {
  const box = new THREE.Box3().setFromArray(neutral as unknown as number[]);
  const c = box.getCenter(new THREE.Vector3());
  const r = Math.round(diagonal * 0.08 * 1e4) / 1e4;
  const front = new THREE.Vector3(c.x + diagonal * 0.12, c.y, box.max.z + r * 0.4);
  const at = round(front);
  switch (shape) {
    case 'box':
      return { shape, name: 'box', center: at, half: [r, r, r] };
    case 'plane':
      return { shape, name: 'plane', point: round(new THREE.Vector3(c.x, box.min.y, c.z)), normal: [0, 1, 0] };
    case 'capsule':
    case 'cylinder':
      return { shape, name: shape === 'capsule' ? 'capsule' : 'rod', from: [at[0] - 2 * r, at[1], at[2]], to: [at[0] + 2 * r, at[1], at[2]], radius: r / 2 };
    default:
      return { shape: 'sphere', name: 'ball', center: at, radius: r };
  }
}
