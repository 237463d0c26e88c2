// Obstacles of the scene as things to see and move.
import * as THREE from 'three';
import { moveObstacle, round } from './obstacle_edits';
import { meshes, type Obstacle } from './state';

const material = (selected: boolean) =>
  new THREE.MeshStandardMaterial({
    color: selected ? 0xe8825a : 0x8d98a6, roughness: 0.55, transparent: true, opacity: selected ? 0.72 : 0.62,
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

/** The obstacle where its mesh is, turned as its mesh is. */
export function placeObstacle(obstacle: Obstacle, object: THREE.Object3D): Obstacle {
  const moved = moveObstacle(obstacle, object.position.toArray());
  const turned = (x: number, y: number, z: number) => new THREE.Vector3(x, y, z).applyQuaternion(object.quaternion);
  if (obstacle.shape === 'plane') return { ...moved, normal: round(turned(0, 0, 1).toArray()) };
  if (!obstacle.from || !obstacle.to) return moved;
  const axis = turned(0, vector(obstacle.to).distanceTo(vector(obstacle.from)) / 2, 0), at = object.position;
  return { ...moved, from: round(at.clone().sub(axis).toArray()), to: round(at.clone().add(axis).toArray()) };
}
