// Markers of a take in the view: where the take has them, where they sit on the face, and a line
// between the two, which is the error.
import * as THREE from 'three';
import type { Rig, Take } from './state';

const SEEN = new THREE.Color(0xe8825a), DOUBT = new THREE.Color(0xf2d14b), CHOSEN = new THREE.Color(0xffffff);

/** A round dot with a dark rim, which shows on any skin. */
export function dot(): THREE.Texture {
  const size = 32, pixels = new Uint8Array(4 * size * size);
  for (let i = 0; i < size * size; i++) {
    const radius = Math.hypot((i % size) - 15.5, Math.floor(i / size) - 15.5);
    const white = Math.max(0, Math.min(1, 11.5 - radius)), inside = Math.max(0, Math.min(1, 15.5 - radius));
    pixels.fill(255 * white, 4 * i, 4 * i + 3);
    pixels[4 * i + 3] = 255 * inside * (0.6 + 0.4 * white);
  }
  const texture = new THREE.DataTexture(pixels, size, size);
  texture.magFilter = texture.minFilter = THREE.LinearFilter;
  texture.colorSpace = THREE.SRGBColorSpace;
  texture.needsUpdate = true;
  return texture;
}

export class MarkerMarks {
  readonly group = new THREE.Group();
  private seen = new THREE.Points(new THREE.BufferGeometry(), new THREE.PointsMaterial({ size: 9, map: dot(), alphaTest: 0.1, sizeAttenuation: false, vertexColors: true, depthTest: false, transparent: true }));
  private lines = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xe8825a, depthTest: false, transparent: true }));
  private shown: number[] = [];

  constructor() {
    this.group.add(this.lines, this.seen);
    for (const object of [this.lines, this.seen]) {
      object.frustumCulled = false;
      object.renderOrder = 9;
    }
  }

  /** Markers that face the camera, at a frame of the clip; -1: on the face at rest. */
  update(rig: Rig | null, take: Take | null, positions: ArrayLike<number>, normals: ArrayLike<number>, frame: number, chosen: number, camera: THREE.Camera) {
    this.group.visible = !!take && !!rig;
    if (!take || !rig) return;
    const points: number[] = [], colors: number[] = [], ends: number[] = [];
    const eye = camera.position, on = new THREE.Vector3(), normal = new THREE.Vector3();
    this.shown = [];
    for (let i = 0; i < take.names.length; i++) {
      pointOf(take, i, positions, on);
      pointOf(take, i, normals, normal);
      if (normal.dot(on.clone().sub(eye)) > 0) continue;
      const at = 3 * (frame * take.names.length + i);
      const isSeen = frame >= 0 && frame < take.frames && Number.isFinite(take.markers[at]);
      const p = isSeen ? [take.markers[at], take.markers[at + 1], take.markers[at + 2]] : on.toArray();
      this.shown.push(i);
      points.push(...p);
      ends.push(...p, on.x, on.y, on.z);
      (i === chosen ? CHOSEN : take.doubts[i] ? DOUBT : SEEN).toArray(colors, colors.length);
    }
    const set = (geometry: THREE.BufferGeometry, name: string, values: number[]) =>
      geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(values), 3));
    set(this.seen.geometry, 'position', points);
    set(this.seen.geometry, 'color', colors);
    set(this.lines.geometry, 'position', ends);
  }

  /** The marker within a few pixels of the pointer, or -1. */
  pick(ndc: THREE.Vector2, camera: THREE.Camera, width: number, height: number): number {
    const p = new THREE.Vector3(), at = this.seen.geometry.attributes.position;
    let best = 12, found = -1;
    this.shown.forEach((marker, k) => {
      p.fromBufferAttribute(at, k).project(camera);
      const distance = Math.hypot(((p.x - ndc.x) * width) / 2, ((p.y - ndc.y) * height) / 2);
      if (distance < best) [best, found] = [distance, marker];
    });
    return found;
  }
}

/** Blend of a vertex attribute at a marker's point of the face. */
function pointOf(take: Take, marker: number, values: ArrayLike<number>, out: THREE.Vector3) {
  out.set(0, 0, 0);
  for (let k = 0; k < 3; k++) {
    const v = 3 * take.corner[3 * marker + k], w = take.barycentric[3 * marker + k];
    out.x += w * values[v];
    out.y += w * values[v + 1];
    out.z += w * values[v + 2];
  }
}

/** The map as a file, with one marker at another point. Markers on vertices get a triangle there. */
export function mapWith(rig: Rig, take: Take, marker: number, triangle: number, barycentric: number[]): string {
  const line = (name: string, t: number, b: ArrayLike<number>) => `${name},${t},${b[0]},${b[1]},${1 - b[0] - b[1]}`;
  return take.names
    .map((name, i) => {
      if (i === marker) return line(name, triangle, barycentric);
      const t = take.triangle[i];
      if (t >= 0) return line(name, t, take.barycentric.subarray(3 * i, 3 * i + 3));
      const corner = rig.triangles.indexOf(take.corner[3 * i]);
      return line(name, Math.floor(corner / 3), [0, 1, 2].map((k) => (k === corner % 3 ? 1 : 0)));
    })
    .join('\n') + '\n';
}
