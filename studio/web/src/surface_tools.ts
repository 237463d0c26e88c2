// The tools that work on the surface under the pointer: pull, pose, pin, lock brush, marker map.
import { effect } from '@preact/signals';
import * as THREE from 'three';
import { newGesture, patch, send, sendFiles, settle } from './link';
import { dot, mapWith, type MarkerMarks } from './markers';
import type { ObstacleStage } from './obstacle_stage';
import type { Json, Operation } from './patch';
import * as state from './state';
import type { Hit, Surface } from './surface';

/** What the tools need of the view. */
export interface Stage {
  readonly host: HTMLElement;
  readonly camera: THREE.Camera;
  readonly obstacles: ObstacleStage;
  readonly markers: MarkerMarks;
  /** Normalized device coordinates within the half under the pointer. */
  pointer(event: PointerEvent): { onLinear: boolean; ndc: THREE.Vector2 };
  pick(event: PointerEvent): Hit | null;
  surface(onLinear: boolean): Surface | null;
  readonly halfSize: { w: number; h: number };
  readonly diagonal: number;
  allowOrbit(on: boolean): void;
  invalidate(): void;
}

/** A pull grabs the skin around its point, as fingers do: one vertex alone would be drawn out to a spike. */
const GRAB_RADIUS = 0.05; // of the diagonal
const GRAB_MOST = 150; // vertices
const GRAB_STIFFNESS = 2.5; // of the middle

interface Grabbed {
  vertex: number;
  from: THREE.Vector3;
  stiffness: number;
}

interface Drag {
  kind: state.Tool;
  vertex: number;
  start: THREE.Vector3;
  plane: THREE.Plane;
  gesture: string;
  /** Pulls of the scene before this one. */
  kept: Json[];
  grabbed: Grabbed[];
  moved: boolean;
}

/** 1, 5, 6, 7 -> "1,5-7", and back. */
function ranges(sorted: number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let j = i;
    while (j + 1 < sorted.length && sorted[j + 1] === sorted[j] + 1) j++;
    parts.push(i === j ? `${sorted[i]}` : `${sorted[i]}-${sorted[j]}`);
    i = j + 1;
  }
  return parts.join(',');
}
function unrange(text: string): number[] {
  return text.split(',').flatMap((part) => {
    const [from, to] = part.split('-').map(Number);
    return to === undefined ? [from] : Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}
const round = (p: THREE.Vector3) => p.toArray().map((x) => Math.round(x * 1e6) / 1e6);

export class SurfaceTools {
  readonly marks = new THREE.Group();
  /** Per vertex, 1 where a lock holds it. */
  mark = new THREE.BufferAttribute(new Float32Array(), 1);
  private dot = new THREE.Mesh(new THREE.SphereGeometry(1, 24, 16), new THREE.MeshBasicMaterial({ color: 0xe8825a, depthTest: false }));
  private brush = new THREE.Mesh(this.dot.geometry, new THREE.MeshBasicMaterial({ color: 0x3f7fe0, transparent: true, opacity: 0.3, depthWrite: false }));
  private line: THREE.Line;
  /** Where the pins of the scene are. */
  private pins = new THREE.Points(new THREE.BufferGeometry(), new THREE.PointsMaterial({ size: 10, map: dot(), alphaTest: 0.1, sizeAttenuation: false, color: 0x5b97f0, depthTest: false, transparent: true }));
  private drag: Drag | null = null;
  private painted = new Set<number>();
  private painting = false;

  constructor(private stage: Stage) {
    this.line = new THREE.Line(
      new THREE.BufferGeometry().setAttribute('position', new THREE.BufferAttribute(new Float32Array(6), 3)),
      new THREE.LineBasicMaterial({ color: 0xe8825a, depthTest: false }),
    );
    this.dot.renderOrder = this.line.renderOrder = 10;
    this.line.frustumCulled = false;
    this.pins.frustumCulled = false;
    this.pins.renderOrder = 9;
    this.marks.add(this.dot, this.brush, this.line, this.pins, stage.markers.group);
    this.point(null);
    const { host } = stage;
    host.addEventListener('pointerdown', (event) => this.onDown(event), { capture: true });
    host.addEventListener('pointermove', (event) => this.onMove(event));
    host.addEventListener('pointerup', (event) => this.onUp(event));
    host.addEventListener('pointercancel', (event) => this.onUp(event));
    host.addEventListener('pointerleave', () => this.drag || this.painting || this.point(null));
    effect(() => {
      host.style.cursor = state.tool.value === 'orbit' ? 'grab' : '';
      this.point(null);
    });
    effect(() => {
      const pulls = state.member.pulls.value ?? [], pinned = pulls.slice(0, pulls.length - state.pullsOfHand.value);
      this.pins.geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(pinned.flatMap((pull) => pull.to ?? [])), 3));
      stage.invalidate();
    });
    effect(() => this.showLocks(state.member.locks.value ?? [], state.selectedLock.value));
  }

  setRig(rig: state.Rig) {
    this.mark = new THREE.BufferAttribute(new Float32Array(rig.vertices), 1);
    this.painted.clear();
    this.dot.scale.setScalar(this.stage.diagonal * 0.006);
    this.showLocks(state.scene.peek().locks ?? [], state.selectedLock.peek());
  }

  /** Shows where the tool touches the surface. */
  private point(at: THREE.Vector3 | null) {
    const isBrush = state.tool.peek() === 'lock';
    if (this.dot.visible || this.brush.visible || at) this.stage.invalidate();
    this.dot.visible = !!at && !isBrush;
    this.brush.visible = !!at && isBrush;
    this.line.visible = false;
    if (!at) return;
    this.dot.position.copy(at);
    this.brush.position.copy(at);
    this.brush.scale.setScalar(state.brush.peek() * this.stage.diagonal);
  }

  private pickObstacle(event: PointerEvent): number {
    const { obstacles, camera } = this.stage;
    if (!obstacles.group.children.length) return -1;
    const ray = new THREE.Raycaster();
    ray.setFromCamera(this.stage.pointer(event).ndc, camera);
    const hit = ray.intersectObjects(obstacles.group.children, true)[0];
    if (!hit) return -1;
    const surface = this.stage.pick(event);
    if (surface && surface.point.distanceTo(camera.position) < hit.distance) return -1;
    return hit.object.userData.index as number;
  }

  /** Chooses the marker under the pointer, or moves the chosen one to the point of the face there. */
  private chooseMarker(event: PointerEvent): boolean {
    const { stage } = this;
    const rig = state.rig.peek(), take = state.take.peek(), chosen = state.selectedMarker.peek();
    const { ndc, onLinear } = stage.pointer(event);
    if (!rig || !take || onLinear) return false;
    const { w, h } = stage.halfSize;
    const marker = stage.markers.pick(ndc, stage.camera, w, h);
    const hit = marker < 0 && chosen >= 0 ? stage.pick(event) : null;
    if (marker < 0 && !hit) return false;
    event.stopPropagation();
    if (hit) {
      const name = `map-${Date.now()}.csv`; // a new file each time: undo goes back to the old one
      void sendFiles([new File([mapWith(rig, take, chosen, hit.triangle, hit.barycentric)], name)]);
      state.tell(`${take.names[chosen]} is moved`);
    }
    state.selectedMarker.value = marker;
    return true;
  }

  private onDown(event: PointerEvent) {
    const { stage } = this;
    if (event.button !== 0 || stage.obstacles.isGrabbing) return;
    const tool = state.tool.peek();
    const obstacle = this.pickObstacle(event);
    if (obstacle >= 0) {
      state.selectedObstacle.value = obstacle;
      return;
    }
    if (tool === 'orbit') return void (stage.host.style.cursor = 'grabbing');
    if (tool === 'map' && this.chooseMarker(event)) return;
    const hit = stage.pick(event);
    if (!hit || tool === 'map') return;
    event.stopPropagation();
    stage.allowOrbit(false);
    stage.host.setPointerCapture(event.pointerId);
    if (tool === 'lock') {
      this.painting = true;
      this.paint(event);
      return;
    }
    stage.host.style.cursor = 'grabbing';
    const normal = stage.camera.getWorldDirection(new THREE.Vector3());
    this.drag = {
      kind: tool,
      vertex: hit.vertex,
      start: hit.point.clone(),
      plane: new THREE.Plane().setFromNormalAndCoplanarPoint(normal, hit.point),
      gesture: newGesture(tool),
      kept: (state.scene.peek().pulls ?? []) as unknown as Json[],
      grabbed: tool === 'pull' ? this.grab(hit.vertex) : [],
      moved: false,
    };
    this.point(hit.point);
  }

  /** The vertices that a pull holds, the middle first. */
  private grab(middle: number): Grabbed[] {
    const surface = this.stage.surface(false)!, p = surface.positions, radius = GRAB_RADIUS * this.stage.diagonal;
    const at = (v: number) => new THREE.Vector3().fromArray(p, 3 * v), center = at(middle);
    const all = surface.patch(middle, radius).map((vertex) => ({ vertex, from: at(vertex), distance: at(vertex).distanceTo(center) }));
    const nearest = all.sort((a, b) => a.distance - b.distance).slice(0, GRAB_MOST);
    const reach = nearest.length < all.length ? nearest[nearest.length - 1].distance : radius;
    return nearest.map(({ vertex, from, distance }) => ({ vertex, from, stiffness: Math.max(0.01, GRAB_STIFFNESS * (1 - (distance / reach) ** 2) ** 2) }));
  }

  private onMove(event: PointerEvent) {
    const { stage } = this;
    if (this.painting) return this.paint(event);
    if (!this.drag) {
      if (!event.buttons) this.hover(event);
      return;
    }
    const ray = new THREE.Raycaster();
    ray.setFromCamera(stage.pointer(event).ndc, stage.camera);
    const to = ray.ray.intersectPlane(this.drag.plane, new THREE.Vector3());
    if (to) this.dragTo(to);
  }

  private hover(event: PointerEvent) {
    const { host, obstacles } = this.stage, tool = state.tool.peek();
    const hit = tool === 'orbit' ? null : this.stage.pick(event);
    this.point(hit?.point ?? null);
    if (obstacles.isGrabbing) host.style.cursor = 'move';
    else if (this.pickObstacle(event) >= 0) host.style.cursor = 'pointer';
    else if (tool === 'orbit') host.style.cursor = 'grab';
    else host.style.cursor = hit ? (tool === 'lock' || tool === 'map' ? 'crosshair' : 'grab') : '';
  }

  private dragTo(to: THREE.Vector3) {
    const drag = this.drag!;
    this.dot.position.copy(to);
    const target = round(to);
    if (drag.kind === 'pose') send({ type: 'drag', vertex: drag.vertex, to: target, gesture: drag.gesture });
    else if (drag.kind === 'pull') {
      const by = to.clone().sub(drag.start);
      const held = drag.grabbed.map(({ vertex, from, stiffness }) => ({ vertex, to: round(from.clone().add(by)), stiffness: Math.round(1e3 * stiffness) / 1e3 }));
      state.pullsOfHand.value = held.length;
      patch([{ op: 'add', path: '/pulls', value: [...drag.kept, ...held] }], `Pull vertex ${drag.vertex}`, { trial: true });
    } else {
      const index = drag.kept.length;
      const ops: Operation[] = [];
      if (!drag.moved && !state.scene.peek().pulls) ops.push({ op: 'add', path: '/pulls', value: [] });
      ops.push(drag.moved ? { op: 'replace', path: `/pulls/${index}/to`, value: target } : { op: 'add', path: '/pulls/-', value: { vertex: drag.vertex, to: target } });
      patch(ops, `Pin vertex ${drag.vertex}`, { gesture: drag.gesture });
    }
    drag.moved = true;
    this.drawLine();
  }

  private onUp(event: PointerEvent) {
    const { stage } = this;
    if (state.tool.peek() === 'orbit') stage.host.style.cursor = 'grab';
    if (!this.drag && !this.painting) return;
    if (stage.host.hasPointerCapture(event.pointerId)) stage.host.releasePointerCapture(event.pointerId);
    stage.allowOrbit(true);
    if (this.painting) {
      this.painting = false;
      this.point(null);
      return this.keepPaint();
    }
    if (this.drag!.kind === 'pull' && this.drag!.moved) settle();
    this.drag = null;
    state.pullsOfHand.value = 0;
    stage.host.style.cursor = '';
    this.point(null);
  }

  /** From the grabbed vertex to the hand. */
  drawLine() {
    const surface = this.stage.surface(false);
    if (!this.drag?.moved || !surface) return;
    const line = this.line.geometry.attributes.position as THREE.BufferAttribute;
    line.setXYZ(0, ...(surface.positions.subarray(3 * this.drag.vertex, 3 * this.drag.vertex + 3) as unknown as [number, number, number]));
    line.setXYZ(1, this.dot.position.x, this.dot.position.y, this.dot.position.z);
    line.needsUpdate = true;
    this.line.visible = true;
    this.stage.invalidate();
  }

  // ---- locks ----------------------------------------------------------------------------------

  /** Adds the vertices under the brush; with Alt takes them away. */
  private paint(event: PointerEvent) {
    const { stage } = this;
    const hit = stage.pick(event);
    if (!hit) return;
    const surface = stage.surface(stage.pointer(event).onLinear)!;
    for (const v of surface.near(hit.point, state.brush.peek() * stage.diagonal)) {
      if (event.altKey) this.painted.delete(v);
      else this.painted.add(v);
      (this.mark.array as Float32Array)[v] = event.altKey ? 0 : 1;
    }
    this.mark.needsUpdate = true;
    this.point(hit.point);
  }

  private keepPaint() {
    const sorted = [...this.painted].sort((a, b) => a - b);
    const locks = state.scene.peek().locks ?? [];
    const index = this.paintedLock(locks);
    if (!sorted.length) {
      if (index >= 0) patch([{ op: 'remove', path: `/locks/${index}` }], `Remove lock ${locks[index].name ?? ''}`);
      state.selectedLock.value = -1;
      return;
    }
    const select = `v:${ranges(sorted)}`;
    const ops: Operation[] = state.scene.peek().locks ? [] : [{ op: 'add', path: '/locks', value: [] }];
    if (index >= 0) ops.push({ op: 'replace', path: `/locks/${index}/select`, value: select });
    else {
      let name = 'painted';
      for (let k = 2; locks.some((lock) => lock.name === name); k++) name = `painted ${k}`;
      ops.push({ op: 'add', path: '/locks/-', value: { name, select } });
    }
    patch(ops, `Paint a lock of ${sorted.length} vertices`);
    if (index < 0) state.selectedLock.value = locks.length;
  }

  /** The lock under the brush, or -1: regions cannot be painted. */
  private paintedLock(locks: state.Lock[]): number {
    const index = state.selectedLock.peek();
    return locks[index]?.select.startsWith('v:') ? index : -1;
  }

  private showLocks(locks: state.Lock[], selected: number) {
    const rig = state.rig.peek();
    if (!rig || this.mark.count !== rig.vertices || this.painting) return;
    const mark = this.mark.array as Float32Array;
    mark.fill(0);
    this.painted.clear();
    locks.forEach((lock, index) => {
      const [kind, what] = lock.select.split(/:(.*)/);
      const vertices = kind === 'region' ? (rig.regions.find((r) => r.name === what)?.vertices ?? []) : kind === 'v' ? unrange(what) : [];
      for (const v of vertices) {
        if (lock.enabled !== false && v < mark.length) mark[v] = 1;
        if (index === selected && kind === 'v') this.painted.add(v);
      }
    });
    this.mark.needsUpdate = true;
    this.stage.invalidate();
  }
}
