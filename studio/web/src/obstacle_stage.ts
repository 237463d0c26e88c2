// The obstacles of the scene in the view, and the arrows that move the selected one.
import * as THREE from 'three';
import { TransformControls } from 'three/examples/jsm/controls/TransformControls.js';
import { newGesture, patch, send } from './link';
import { obstacleMesh, placeObstacle } from './obstacles';
import * as state from './state';

export class ObstacleStage {
  /** One object per obstacle that is on. */
  readonly group = new THREE.Group();
  /** Made when the first obstacle is selected: it is a hundred small meshes. */
  private gizmo: TransformControls | null = null;
  private gesture = '';
  private wanted = new Set<string>();

  /** Arrows are dragged over `host`; `changed` asks for a new picture, `held` tells whether they are held. */
  constructor(private scene: THREE.Scene, private camera: THREE.Camera, private host: HTMLElement, private changed: () => void, private held: (on: boolean) => void) {
    scene.add(this.group);
  }

  /** The pointer is over an arrow. */
  get isGrabbing() {
    return !!this.gizmo?.axis;
  }

  showGizmo(on: boolean) {
    if (this.gizmo) this.gizmo.getHelper().visible = on && !!this.gizmo.object;
  }

  private makeGizmo(): TransformControls {
    const gizmo = new TransformControls(this.camera, this.host);
    gizmo.setSize(0.75);
    gizmo.setColors(0xd9544d, 0x5f9e3f, 0x3f76d0, 0xe8825a);
    gizmo.addEventListener('change', () => this.changed());
    gizmo.addEventListener('dragging-changed', (event) => {
      this.held(!!event.value);
      this.gesture = newGesture('obstacle');
    });
    gizmo.addEventListener('objectChange', () => this.moved());
    this.scene.add(gizmo.getHelper());
    return gizmo;
  }

  set(list: state.Obstacle[], selected: number, diagonal: number) {
    this.changed();
    if (this.gizmo?.dragging && this.group.children.length === list.length) return; // it already shows where the obstacle is
    this.gizmo?.detach();
    for (const child of [...this.group.children]) {
      this.group.remove(child);
      child.traverse((o) => (o as THREE.Mesh).geometry?.dispose());
    }
    list.forEach((obstacle, i) => {
      if (obstacle.shape === 'mesh' && obstacle.file) this.want(obstacle.file);
      const mesh = obstacleMesh(obstacle, diagonal, i === selected);
      if (!mesh) return;
      mesh.traverse((o) => (o.userData.index = i));
      this.group.add(mesh);
      if (i !== selected) return;
      this.gizmo ??= this.makeGizmo();
      this.gizmo.attach(mesh);
      this.gizmo.setMode(['sphere', 'box', 'mesh'].includes(obstacle.shape) ? 'translate' : state.gizmoMode.value);
    });
  }

  /** Asks for the triangles of a file, once. */
  private want(file: string) {
    if (state.meshes.peek().size === 0) this.wanted.clear(); // of another project
    if (state.meshes.peek().has(file) || this.wanted.has(file)) return;
    this.wanted.add(file);
    send({ type: 'mesh', file });
  }

  private moved() {
    const object = this.gizmo?.object;
    const index = state.selectedObstacle.peek();
    const obstacle = state.scene.peek().obstacles?.[index];
    if (!object || !obstacle) return;
    const value = placeObstacle(obstacle, object) as never;
    patch([{ op: 'replace', path: `/obstacles/${index}`, value }], `Move ${obstacle.name ?? obstacle.shape}`, { gesture: this.gesture });
  }
}
