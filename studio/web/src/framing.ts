// Where a camera stands so that a rig fills the picture.
import * as THREE from 'three';
import type { Rig } from './state';

/**
 * What targets move, with what is around it, where that is a small part of the rig, as the face of a body is; otherwise null.
 */
function movedPart(rig: Rig) {
  if (!rig.moved) return null;
  const box = new THREE.Box3().setFromArray(rig.moved);
  const size = Math.max(box.getSize(new THREE.Vector3()).length(), 0.05 * rig.diagonal);
  return 3 * size < rig.diagonal ? box.expandByScalar(0.3 * size) : null;
}

/**
 * Frames the neutral (or `shapes`, one after the other), faces from a little to the side; `aim` names a region to frame instead.
 * `room` is the fraction of the height that the shape may fill. Of a rig that moves a small part of itself, that part is framed,
 * unless it is to be `whole`.
 */
export function frameRig(camera: THREE.PerspectiveCamera, rig: Rig, aim: string | undefined, aspect: number, shapes = rig.neutral, room = 1, whole = false) {
  const box = (!whole && movedPart(rig)) || new THREE.Box3().setFromArray(shapes as unknown as number[]);
  const region = rig.regions.find((r) => r.name === aim);
  if (region) {
    box.makeEmpty();
    const p = new THREE.Vector3();
    for (const v of region.vertices) box.expandByPoint(p.fromArray(rig.neutral, 3 * v));
    box.expandByScalar(rig.diagonal * 0.035 * Math.min(1, aspect));
    room = 1; // what is around it may be covered
  }
  const center = box.getCenter(new THREE.Vector3());
  const size = box.getSize(new THREE.Vector3());
  const isLong = size.x > 2.2 * size.y;
  // An animal or a hand that points to the viewer shows more from its side; faces are seen from the front.
  const isDeep = size.z > 1.4 * size.x && !rig.regions.some((r) => /lip|lid|brow|mouth/i.test(r.name));
  const azimuth = isLong ? 0.25 : isDeep ? 1.05 : 0.42;
  const elevation = isLong ? 0.32 : 0.1;
  const fov = (camera.fov * Math.PI) / 360;
  const across = 0.5 * (size.x * Math.cos(azimuth) + size.z * Math.sin(azimuth)) * 1.12;
  const tall = (0.5 * (size.y + (isLong ? size.z * 0.4 : 0)) * (room < 1 ? 1.06 : 1.16)) / room;
  const distance = 0.5 * Math.min(size.x, size.z) + Math.max(across / (Math.tan(fov) * aspect), tall / Math.tan(fov));
  camera.position.set(
    center.x + distance * Math.sin(azimuth) * Math.cos(elevation),
    center.y + distance * Math.sin(elevation),
    center.z + distance * Math.cos(azimuth) * Math.cos(elevation),
  );
  camera.aspect = aspect;
  camera.near = distance / 100;
  camera.far = distance * 20;
  camera.lookAt(center);
  camera.updateProjectionMatrix();
  return { center, across, tall, aspect };
}
