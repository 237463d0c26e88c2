// The viewport: one renderer, two views with one camera, tools on the surface.
import { effect } from '@preact/signals';
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { acceleratedRaycast, MeshBVH, type SerializedBVH } from 'three-mesh-bvh';
import { ContactShadow } from './contact_shadow';
import { newGesture, onShape, patch, send, sendFiles, settle, showNewest } from './link';
import { mapWith, MarkerMarks } from './markers';
import { obstacleMesh } from './obstacles';
import { ObstacleStage } from './obstacle_stage';
import { computeNormals, paintRig, visibleTriangles, studioEnvironment, surfaceMaterials, type SurfaceMaterials } from './shading';
import type { Json, Operation } from './patch';
import * as state from './state';
import type { SurveyAnswer, SurveyRequest } from './survey';
import { finished } from './finished';
import { frameRig } from './framing';
import { Thumbnails } from './thumbnails';

/** Milliseconds without a change after which a draft becomes a picture. */
const REST = 350;
/** Of a picture at rest without a GPU: about a tenth of a second of two processors. */
const FINE_PIXELS = 2.5e6;

interface Surface {
  geometry: THREE.BufferGeometry;
  mesh: THREE.Mesh;
  /** Triangles of the rig that are drawn, in the order of the index. */
  drawn: Uint32Array;
  materials: SurfaceMaterials;
  wires: THREE.LineSegments;
  bvh: MeshBVH | null;
  stale: boolean;
}

/** A renderer, and whether it runs on the processor because there is no GPU. */
function makeRenderer(): { renderer: THREE.WebGLRenderer; software: boolean } {
  const options = { preserveDrawingBuffer: true, alpha: true };
  const renderer = new THREE.WebGLRenderer({ ...options, antialias: true });
  const gl = renderer.getContext(), about = gl.getExtension('WEBGL_debug_renderer_info');
  const software = !!about && /swiftshader|llvmpipe|software/i.test(String(gl.getParameter(about.UNMASKED_RENDERER_WEBGL)));
  if (!software) return { renderer, software };
  // Four samples a pixel take a processor three times as long.
  renderer.dispose();
  renderer.forceContextLoss();
  return { renderer: new THREE.WebGLRenderer({ ...options, antialias: false }), software };
}

/** 1, 5, 6, 7 -> "1,5-7", and back. */
export function ranges(sorted: number[]): string {
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

/** Corners of the chosen triangles. */
function corners(triangles: Uint32Array, chosen: Uint32Array): Uint32Array {
  const result = new Uint32Array(3 * chosen.length);
  for (let i = 0; i < chosen.length; i++) for (let k = 0; k < 3; k++) result[3 * i + k] = triangles[3 * chosen[i] + k];
  return result;
}

export class View {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(26, 1, 0.001, 100);
  private scene = new THREE.Scene();
  private orbit: OrbitControls;
  private linear: Surface | null = null;
  private physical: Surface | null = null;
  private ghostMaterial = new THREE.MeshStandardMaterial({
    color: 0x4f8fd0, transparent: true, opacity: 0.34, depthWrite: false, roughness: 0.9, side: THREE.FrontSide,
    polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 8, // where both shapes are the same, the physical one is seen
  });
  private wireMaterial = new THREE.LineBasicMaterial({ color: 0x10141a, transparent: true, opacity: 0.22 });
  private obstacles: ObstacleStage;
  private marks = new THREE.Group();
  private dot: THREE.Mesh;
  private line: THREE.Line;
  private shadows: { linear: ContactShadow; physical: ContactShadow };
  private markers = new MarkerMarks();
  private thumbnails: Thumbnails | null = null;
  private previews = new Map<state.Preview, { camera: THREE.PerspectiveCamera; thumbnails: Thumbnails }>();
  private homeCamera = new THREE.PerspectiveCamera();
  private dirty = true;
  private afterRender: (() => void)[] = [];
  private restEdges: Uint32Array = new Uint32Array();
  private newRig: state.Rig | null = null;
  private hasNewRig = false;
  private tree: SerializedBVH | null = null;
  private worker: Worker | null = null;
  private diagonal = 1;
  private floor = 0;
  /** A new rig is framed until its first physical shape is there, or somebody turns the view. */
  private isFraming = false;
  private drag: { vertex: number; plane: THREE.Plane; gesture: string; index: number; moved: boolean; kind: state.Tool } | null = null;
  private mark = new THREE.BufferAttribute(new Float32Array(), 1);
  private painted = new Set<number>();
  private painting = false;
  private frames = 0;
  private busyFrames = 0;
  private lastDraw = 0;
  private pace = 16;
  /** No GPU: drafts only, which leaves the processor to the solver. */
  private software: boolean;
  /** Graphics that cannot follow the hand draw drafts while things move. */
  private slow: boolean;
  /** Lends its programs to every surface. */
  private programs = surfaceMaterials();
  /** Drafts can be drawn; so can everything else. */
  private canDraw = false;
  private compiled = false;
  private sharp = false;

  constructor(private host: HTMLElement, right: HTMLElement) {
    const { renderer, software } = makeRenderer();
    this.renderer = renderer;
    this.software = this.slow = software;
    this.renderer.debug.checkShaderErrors = import.meta.env.DEV; // asking waits for the compiler
    this.renderer.setPixelRatio(this.software ? 1 : Math.min(2, devicePixelRatio));
    this.renderer.toneMapping = THREE.ACESFilmicToneMapping;
    this.renderer.toneMappingExposure = 1.08;
    this.renderer.autoClear = false;
    const canvas = this.renderer.domElement;
    canvas.className = 'canvas';
    canvas.setAttribute('aria-hidden', 'true');
    host.prepend(canvas);
    this.scene.environmentIntensity = 0.75;
    const key = new THREE.DirectionalLight(0xfff1e0, 1.9);
    key.position.set(-2, 3, 3);
    const rim = new THREE.DirectionalLight(0xdfe9ff, 1.1);
    rim.position.set(2.5, 1.5, -3);
    this.scene.add(key, rim, this.marks);
    this.shadows = { linear: new ContactShadow(this.renderer), physical: new ContactShadow(this.renderer) };
    this.scene.add(this.shadows.linear.plane, this.shadows.physical.plane);

    this.dot = new THREE.Mesh(new THREE.SphereGeometry(1, 16, 12), new THREE.MeshBasicMaterial({ color: 0xe8825a, depthTest: false }));
    this.line = new THREE.Line(
      new THREE.BufferGeometry().setAttribute('position', new THREE.BufferAttribute(new Float32Array(6), 3)),
      new THREE.LineBasicMaterial({ color: 0xe8825a, depthTest: false }),
    );
    this.dot.renderOrder = this.line.renderOrder = 10;
    this.line.frustumCulled = false;
    this.dot.visible = this.line.visible = false;
    this.marks.add(this.dot, this.line, this.markers.group);

    this.orbit = new OrbitControls(this.camera, host);
    this.orbit.enableDamping = false;
    this.orbit.addEventListener('change', () => this.invalidate());
    this.orbit.addEventListener('start', () => (this.isFraming = false));
    this.obstacles = new ObstacleStage(this.scene, this.camera, right, () => this.invalidate(), (held) => (this.orbit.enabled = !held));

    host.addEventListener('pointerdown', (event) => this.onDown(event), { capture: true });
    host.addEventListener('pointermove', (event) => this.onMove(event));
    host.addEventListener('pointerup', (event) => this.onUp(event));
    host.addEventListener('pointercancel', (event) => this.onUp(event));
    new ResizeObserver(() => this.resize()).observe(host);

    effect(() => {
      this.newRig = state.rig.value;
      this.hasNewRig = true;
    });
    effect(() => {
      void state.beside.value;
      this.setShape(state.shape.value);
    });
    effect(() => this.showLocks(state.rig.peek(), state.member.locks.value ?? [], state.selectedLock.value));
    effect(() => this.obstacles.set(state.member.obstacles.value ?? [], state.selectedObstacle.value, this.diagonal));
    effect(() => {
      void state.compare.value, state.wireframe.value, state.theme.value;
      this.updateOverlay();
      this.resize();
    });
    effect(() => {
      void state.take.value, state.selectedMarker.value, state.tool.value;
      this.invalidate();
    });
    effect(() => {
      void state.overlay.value;
      this.updateOverlay();
    });
    onShape((drawn, seen) => {
      this.afterRender.push(() => {
        drawn();
        void finished(this.renderer.getContext() as WebGL2RenderingContext).then(seen);
      });
      this.invalidate();
    });
    this.compile().catch((error: Error) => state.tell(`Cannot draw: ${error.message}`, 'error'));
    this.loop(0);
  }

  invalidate() {
    this.dirty = true;
  }

  private loop = (now: number) => {
    requestAnimationFrame(this.loop);
    if (this.hasNewRig) {
      // A task of its own, and before its first shape; panels and the first picture have theirs.
      this.hasNewRig = false;
      return this.setRig(this.newRig);
    }
    showNewest();
    if (!this.canDraw) return;
    if (!this.dirty) {
      this.busyFrames = 0;
      // At rest a draft gets its shadows, and the full light where there is a GPU.
      if (this.sharp || !this.linear || !this.compiled || now - this.lastDraw < REST) return;
      this.useSamples(true);
      this.render(!this.software, true);
      this.frames++;
      return;
    }
    if (this.busyFrames++ > 1) this.pace += 0.4 * (now - this.lastDraw - this.pace);
    if (this.pace > 40) this.slow = true;
    this.lastDraw = now;
    this.dirty = false;
    const full = this.compiled && !this.slow;
    this.useSamples(false);
    this.render(full, full);
    for (const done of this.afterRender.splice(0)) done();
    this.frames++;
  };

  /** Without a GPU there is no antialiasing while things move; at rest, more pixels make up for it. */
  private useSamples(rest: boolean) {
    if (!this.software) return;
    const { clientWidth: w, clientHeight: h } = this.host;
    const ratio = rest ? Math.max(1, Math.min(2, Math.sqrt(FINE_PIXELS / Math.max(1, w * h)))) : 1;
    if (ratio !== this.renderer.getPixelRatio()) this.renderer.setPixelRatio(ratio);
  }

  /**
   * Compiles before it is needed, while the rig is on its way, what will be drawn: a program that is not ready when it is used
   * stops the page. Drafts come first; the full material takes seconds to compile without a GPU, and is not used there.
   */
  private async compile() {
    const { renderer, camera, scene, programs } = this;
    renderer.extensions.get('EXT_texture_filter_anisotropic'); // asked for later, it would wait for the compiler
    const surface = new THREE.BufferGeometry();
    for (const [name, size] of [['position', 3], ['normal', 3], ['color', 3], ['gaze', 4], ['heat', 1], ['shade', 1], ['mark', 1]] as const)
      surface.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * size), size));
    const draft = new THREE.Mesh<THREE.BufferGeometry, THREE.Material>(surface, programs.draft);
    const gl = renderer.getContext() as WebGL2RenderingContext;
    // Not every browser can tell when a program is ready, but all can tell when WebGL has done everything.
    await renderer.compileAsync(draft, camera, scene).then(() => finished(gl));
    this.canDraw = true;
    if (!this.software) this.scene.environment ??= studioEnvironment(renderer);
    const others = new THREE.Group();
    others.add(new THREE.Mesh(surface, this.ghostMaterial), new THREE.LineSegments(surface, this.wireMaterial));
    if (!this.software) others.add(new THREE.Mesh(surface, programs.full));
    await Promise.all([
      renderer.compileAsync(scene, camera),
      renderer.compileAsync(others, camera, scene),
      this.shadows.physical.compile(surface),
      Thumbnails.compile(renderer, draft),
    ]).then(() => finished(gl));
    this.compiled = true;
    if (!this.slow) this.invalidate();
  }

  /** The picture at rest is on the screen. */
  get isSharp() {
    return this.sharp;
  }

  get frameCount() {
    return this.frames;
  }

  private resize() {
    const { clientWidth: w, clientHeight: h } = this.host;
    if (!w || !h) return;
    this.renderer.setSize(w, h, false);
    this.dirty = true;
  }

  // ---- shapes ---------------------------------------------------------------------------------

  /** A surface in its neutral. `common` has the attributes and the index that both surfaces share. */
  private makeSurface(rig: state.Rig, drawn: Uint32Array, common: THREE.BufferGeometry, normals: Float32Array): Surface {
    const geometry = new THREE.BufferGeometry();
    geometry.setIndex(common.index);
    for (const name in common.attributes) geometry.setAttribute(name, common.attributes[name]);
    const position = new THREE.BufferAttribute(rig.neutral.slice(), 3).setUsage(THREE.DynamicDrawUsage);
    geometry.setAttribute('position', position);
    geometry.setAttribute('normal', new THREE.BufferAttribute(normals.slice(), 3));
    geometry.setAttribute('heat', new THREE.BufferAttribute(new Float32Array(rig.vertices), 1));
    const materials = surfaceMaterials();
    const mesh = new THREE.Mesh<THREE.BufferGeometry, THREE.Material>(geometry, materials.draft);
    mesh.frustumCulled = false;
    mesh.raycast = acceleratedRaycast;
    const wireGeometry = new THREE.BufferGeometry();
    wireGeometry.setAttribute('position', position);
    const wires = new THREE.LineSegments(wireGeometry, this.wireMaterial);
    wires.frustumCulled = false;
    this.scene.add(mesh, wires);
    return { geometry, mesh, drawn, materials, wires, bvh: null, stale: true };
  }

  private setRig(rig: state.Rig | null) {
    for (const surface of [this.linear, this.physical])
      if (surface) {
        this.scene.remove(surface.mesh, surface.wires);
        surface.geometry.dispose();
        surface.wires.geometry.dispose();
        surface.materials.full.dispose();
        surface.materials.draft.dispose();
      }
    this.linear = this.physical = null;
    this.thumbnails?.dispose();
    this.thumbnails = null;
    if (!rig) return;
    const paint = paintRig(rig);
    this.mark = new THREE.BufferAttribute(new Float32Array(rig.vertices), 1);
    this.painted.clear();
    const drawn = visibleTriangles(rig), normals = new Float32Array(3 * rig.vertices);
    computeNormals(rig.neutral, rig.triangles, normals);
    const common = new THREE.BufferGeometry();
    common.setIndex(new THREE.BufferAttribute(corners(rig.triangles, drawn), 1));
    common.setAttribute('color', new THREE.BufferAttribute(paint.color, 3));
    common.setAttribute('gaze', new THREE.BufferAttribute(paint.gaze, 4));
    common.setAttribute('shade', new THREE.BufferAttribute(new Float32Array(rig.vertices).fill(1), 1));
    common.setAttribute('mark', this.mark);
    this.linear = this.makeSurface(rig, drawn, common, normals);
    this.physical = this.makeSurface(rig, drawn, common, normals);
    this.survey(rig, common, normals);
    this.diagonal = rig.diagonal || 1;
    this.dot.scale.setScalar(this.diagonal * 0.006);
    let floor = Infinity;
    for (let i = 1; i < rig.neutral.length; i += 3) floor = Math.min(floor, rig.neutral[i]);
    this.placeFloor(floor);
    this.isFraming = true;
    this.home();
    this.updateOverlay();
    const { locks, obstacles } = state.scene.peek();
    this.showLocks(rig, locks ?? [], state.selectedLock.peek());
    this.obstacles.set(obstacles ?? [], state.selectedObstacle.peek(), this.diagonal);
  }

  /** What takes long to find comes from a worker; tools and overlays do without until then. */
  private survey(rig: state.Rig, common: THREE.BufferGeometry, normals: Float32Array) {
    this.tree = null;
    this.restEdges = new Uint32Array();
    this.worker?.terminate();
    const worker = (this.worker = new Worker(new URL('./survey.ts', import.meta.url), { type: 'module' }));
    worker.onmessage = ({ data }: MessageEvent<SurveyAnswer>) => {
      if ('shade' in data) {
        (common.attributes.shade as THREE.BufferAttribute).copyArray(data.shade).needsUpdate = true;
        this.invalidate();
        return;
      }
      this.tree = data.tree;
      this.restEdges = data.edges;
      const index = new THREE.BufferAttribute(data.edges, 1);
      for (const surface of [this.linear, this.physical]) surface?.wires.geometry.setIndex(index);
      this.updateOverlay();
    };
    const gaze = common.attributes.gaze;
    const request: SurveyRequest = {
      neutral: rig.neutral, normals, diagonal: rig.diagonal, index: common.index!.array as Uint32Array,
      triangles: rig.triangles, triangleFace: rig.triangleFace, gloss: Float32Array.from({ length: rig.vertices }, (_, v) => gaze.getW(v)),
    };
    worker.postMessage(request);
  }

  home() {
    const rig = state.rig.value;
    if (!rig) return;
    const { w, h } = this.half();
    const { center, across, tall, aspect } = frameRig(this.camera, rig, state.scene.peek().studio?.camera as string | undefined, w / Math.max(1, h), this.shownShapes(rig));
    this.orbit.target.copy(center);
    this.orbit.update();
    this.homeCamera.copy(this.camera);
    this.homeCamera.zoom = Math.max(across / aspect, tall) / Math.max(across, tall); // for a square
    this.invalidate();
  }

  /** The neutral and what the views show. */
  private shownShapes(rig: state.Rig): Float32Array {
    const shown = [this.linear, this.physical].flatMap((surface) => (surface ? [surface.geometry.attributes.position.array as Float32Array] : []));
    const all = new Float32Array(rig.neutral.length * (shown.length + 1));
    [rig.neutral, ...shown].forEach((shape, i) => all.set(shape, i * rig.neutral.length));
    return all;
  }

  private setPositions(surface: Surface, positions: Float32Array, triangles: Uint32Array) {
    const attribute = surface.geometry.attributes.position as THREE.BufferAttribute;
    (attribute.array as Float32Array).set(positions);
    attribute.needsUpdate = true;
    const normal = surface.geometry.attributes.normal as THREE.BufferAttribute;
    computeNormals(positions, triangles, normal.array as Float32Array);
    normal.needsUpdate = true;
    surface.stale = true;
  }

  /** The linear blend, or the same frame of the solve that is shown beside. */
  private leftShape(shape: state.Shape): Float32Array {
    const { beside } = state, n = shape.positions.length;
    const other = shape.frame >= 0 ? beside.peek()?.positions.subarray(n * shape.frame, n * (shape.frame + 1)) : undefined;
    return other?.length === n ? other : shape.linear;
  }

  private setShape(shape: state.Shape | null) {
    const rig = state.rig.peek();
    if (!shape || !rig || !this.linear || !this.physical || shape.positions.length !== 3 * rig.vertices) return;
    this.setPositions(this.linear, this.leftShape(shape), rig.triangles);
    this.setPositions(this.physical, shape.positions, rig.triangles);
    this.shadows.linear.stale = this.shadows.physical.stale = true;
    this.measureShapes();
    if (this.isFraming) this.home();
    if (!shape.building) this.isFraming = false;
    this.updateOverlay();
    this.drawMarks();
  }

  /** How far the two shapes are apart, and whether one of them reaches below the floor. */
  private measureShapes() {
    const a = this.linear!.geometry.attributes.position.array, b = this.physical!.geometry.attributes.position.array;
    let most = 0, lowest = this.floor;
    for (let i = 0; i < a.length; i += 3) {
      const x = a[i] - b[i], y = a[i + 1] - b[i + 1], z = a[i + 2] - b[i + 2];
      most = Math.max(most, x * x + y * y + z * z);
      lowest = Math.min(lowest, a[i + 1], b[i + 1]);
    }
    state.apart.value = Math.sqrt(most);
    if (lowest < this.floor) this.placeFloor(lowest - 0.02 * this.diagonal);
  }

  /** The shadows lie at a height; a jaw that opens pushes it down. */
  private placeFloor(height: number) {
    this.floor = height;
    const whole = new THREE.Box3().setFromArray(state.rig.peek()!.neutral as unknown as number[]);
    whole.min.y = height;
    this.shadows.linear.place(whole, this.diagonal);
    this.shadows.physical.place(whole, this.diagonal);
  }

  private updateOverlay() {
    const rig = state.rig.peek();
    if (!rig || !this.linear || !this.physical) return;
    const mode = state.overlay.peek();
    const surfaces: [Surface, boolean][] = [[this.linear, false], [this.physical, true]];
    const a = this.linear.geometry.attributes.position.array as Float32Array;
    const b = this.physical.geometry.attributes.position.array as Float32Array;
    let top = 0;
    for (const [surface, isPhysical] of surfaces) {
      surface.materials.heatOn.value = mode === 'none' ? 0 : 1;
      // An offset would let the inside shine through at the silhouette: only where wires need it.
      for (const material of [surface.materials.full, surface.materials.draft]) material.polygonOffset = state.wireframe.peek();
      if (mode === 'none') continue;
      const heat = surface.geometry.attributes.heat.array as Float32Array;
      const p = isPhysical ? b : a;
      if (mode === 'stretch') {
        heat.fill(0);
        for (let e = 0; e < this.restEdges.length; e += 2) {
          const i = 3 * this.restEdges[e], j = 3 * this.restEdges[e + 1];
          const rest = Math.hypot(rig.neutral[i] - rig.neutral[j], rig.neutral[i + 1] - rig.neutral[j + 1], rig.neutral[i + 2] - rig.neutral[j + 2]);
          const now = Math.hypot(p[i] - p[j], p[i + 1] - p[j + 1], p[i + 2] - p[j + 2]);
          const error = rest > 0 ? Math.abs(now / rest - 1) : 0;
          heat[i / 3] = Math.max(heat[i / 3], error);
          heat[j / 3] = Math.max(heat[j / 3], error);
        }
        top = 0.5;
      } else {
        const from = mode === 'difference' ? a : rig.neutral;
        for (let v = 0; v < rig.vertices; v++) {
          const i = 3 * v;
          heat[v] = Math.hypot(p[i] - from[i], p[i + 1] - from[i + 1], p[i + 2] - from[i + 2]);
          if (heat[v] > top) top = heat[v];
        }
      }
    }
    if (mode !== 'none') {
      const range = Math.max(top, 1e-9);
      for (const [surface] of surfaces) {
        const attribute = surface.geometry.attributes.heat as THREE.BufferAttribute;
        const heat = attribute.array as Float32Array;
        for (let v = 0; v < heat.length; v++) heat[v] /= range;
        attribute.needsUpdate = true;
      }
      state.heatRange.value = range;
    }
    this.invalidate();
  }

  // ---- drawing --------------------------------------------------------------------------------

  private half() {
    const split = state.compare.peek() === 'side';
    const w = this.host.clientWidth, h = this.host.clientHeight;
    return { split, w: split ? w / 2 : w, h };
  }

  private render(full: boolean, rest: boolean) {
    const { split, w, h } = this.half();
    this.sharp = rest;
    // Drafts do without, and making it takes seconds where there is no GPU.
    if (full) this.scene.environment ??= studioEnvironment(this.renderer);
    for (const surface of [this.linear, this.physical])
      if (surface) surface.mesh.material = full ? surface.materials.full : surface.materials.draft;
    const renderer = this.renderer;
    this.camera.aspect = w / Math.max(1, h);
    this.camera.updateProjectionMatrix();
    if (rest && split && this.linear) this.shadows.linear.update(this.linear.mesh);
    if (rest && this.physical) this.shadows.physical.update(this.physical.mesh);
    const shown = this.physical?.geometry.attributes;
    const isOn = !!state.scene.peek().markers && !!shown;
    this.markers.update(isOn ? state.rig.peek() : null, state.take.peek(), shown?.position.array ?? [], shown?.normal.array ?? [], state.shape.peek()?.frame ?? -1, state.selectedMarker.peek(), this.camera);
    renderer.setScissorTest(false);
    renderer.setViewport(0, 0, this.host.clientWidth, h);
    renderer.setClearColor(0x000000, 0);
    renderer.clear();
    renderer.setScissorTest(true);
    const ghost = state.compare.peek() === 'ghost';
    const draw = (x: number, which: 'linear' | 'physical') => {
      renderer.setViewport(x, 0, w, h);
      renderer.setScissor(x, 0, w, h);
      if (!this.linear || !this.physical) return;
      const isLinear = which === 'linear';
      this.linear.mesh.visible = isLinear || ghost;
      this.physical.mesh.visible = !isLinear;
      const wires = state.wireframe.peek() && this.restEdges.length > 0;
      this.linear.wires.visible = wires && isLinear;
      this.physical.wires.visible = wires && !isLinear;
      const own = this.linear.mesh.material;
      if (ghost) (this.linear.mesh as THREE.Mesh).material = this.ghostMaterial;
      this.linear.mesh.renderOrder = ghost ? 5 : 0;
      this.obstacles.showGizmo(!isLinear);
      this.marks.visible = !isLinear;
      this.shadows.linear.plane.visible = isLinear;
      this.shadows.physical.plane.visible = !isLinear;
      renderer.render(this.scene, this.camera);
      this.linear.mesh.material = own;
    };
    if (split) {
      draw(0, 'linear');
      draw(w, 'physical');
    } else draw(0, 'physical');
  }

  /** Rotates the camera by steps of a twelfth of a right angle. */
  turn(right: number, up: number) {
    this.isFraming = false;
    const step = Math.PI / 24, at = new THREE.Spherical().setFromVector3(this.camera.position.clone().sub(this.orbit.target));
    at.theta += step * right;
    at.phi = Math.max(0.01, Math.min(Math.PI - 0.01, at.phi - step * up));
    this.camera.position.setFromSpherical(at).add(this.orbit.target);
    this.orbit.update();
    this.invalidate();
  }

  zoom(factor: number) {
    this.isFraming = false;
    this.camera.position.sub(this.orbit.target).divideScalar(factor).add(this.orbit.target);
    this.orbit.update();
    this.invalidate();
  }

  /** A video of one rotation about the vertical axis, from the present view. */
  async turntable(seconds = 4, rate = 24): Promise<Blob> {
    const type = ['video/webm;codecs=vp9', 'video/webm'].find((t) => window.MediaRecorder?.isTypeSupported(t));
    if (!type) throw new Error('This browser cannot record videos; use sinew render --turntable');
    const stream = this.renderer.domElement.captureStream(0);
    const track = stream.getVideoTracks()[0] as CanvasCaptureMediaStreamTrack;
    const recorder = new MediaRecorder(stream, { mimeType: type, videoBitsPerSecond: 8e6 });
    const chunks: Blob[] = [];
    recorder.ondataavailable = (event) => chunks.push(event.data);
    const stopped = new Promise((resolve) => (recorder.onstop = resolve));
    const home = this.camera.position.clone(), axis = new THREE.Vector3(0, 1, 0);
    this.orbit.enabled = false;
    this.useSamples(false);
    recorder.start();
    for (let k = 0; k < seconds * rate; k++) {
      const turned = home.clone().sub(this.orbit.target).applyAxisAngle(axis, (2 * Math.PI * k) / (seconds * rate));
      this.camera.position.copy(turned.add(this.orbit.target));
      this.camera.lookAt(this.orbit.target);
      this.render(!this.software && this.compiled, true);
      track.requestFrame();
      await new Promise((resolve) => setTimeout(resolve, 1000 / rate));
    }
    recorder.stop();
    await stopped;
    this.camera.position.copy(home);
    this.orbit.enabled = true;
    this.orbit.update();
    this.invalidate();
    return new Blob(chunks, { type });
  }

  /** A small picture of the neutral, `share` of the way to `shape`. */
  async thumbnail(canvas: HTMLCanvasElement, shape: Float32Array, share: number) {
    const rig = state.rig.peek(), like = this.physical;
    if (!rig || !like || shape.length !== 3 * rig.vertices) return;
    this.thumbnails ??= new Thumbnails(this.renderer, rig, like.geometry);
    await this.thumbnails.draw(canvas, rig.neutral, shape, share, this.homeCamera, like.materials.draft);
  }

  /** Draws an example, `share` of the way from frame `from` to frame `to`, in one of its shapes. */
  async preview(canvas: HTMLCanvasElement, preview: state.Preview, which: 'linear' | 'physical', from: number, to: number, share: number) {
    if (!this.physical) return;
    let shown = this.previews.get(preview);
    if (!shown) {
      const camera = new THREE.PerspectiveCamera(this.camera.fov);
      frameRig(camera, preview.rig, preview.camera, canvas.width / canvas.height, preview.physical);
      if (preview.camera) camera.zoom = 1.7; // a tile is small
      const things = preview.obstacles.map((obstacle) => obstacleMesh(obstacle, preview.rig.diagonal, false)).filter((o) => !!o);
      this.previews.set(preview, (shown = { camera, thumbnails: new Thumbnails(this.renderer, preview.rig, null, things) }));
    }
    const n = 3 * preview.rig.vertices;
    const [a, b] = [from, to].map((frame) => preview[which].subarray(frame * n, (frame + 1) * n));
    await shown.thumbnails.draw(canvas, a, b, share, shown.camera, this.physical.materials.draft);
  }

  picture(): Promise<Blob> {
    this.useSamples(true);
    this.render(!this.software, true); // without a GPU the full material would stop the page for many seconds
    const source = this.renderer.domElement;
    const copy = document.createElement('canvas');
    copy.width = source.width;
    copy.height = source.height;
    const context = copy.getContext('2d')!;
    const gradient = context.createLinearGradient(0, 0, 0, copy.height);
    const style = getComputedStyle(document.documentElement);
    gradient.addColorStop(0, style.getPropertyValue('--view-top'));
    gradient.addColorStop(1, style.getPropertyValue('--view-bottom'));
    context.fillStyle = gradient;
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(source, 0, 0);
    return new Promise((resolve, reject) =>
      copy.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png'),
    );
  }

  // ---- tools ----------------------------------------------------------------------------------

  /** Normalized device coordinates within the half under the pointer. */
  private pointer(event: PointerEvent) {
    const rect = this.host.getBoundingClientRect();
    const { split, w, h } = this.half();
    let x = event.clientX - rect.left;
    const onLinear = split && x < w;
    if (split && !onLinear) x -= w;
    return { onLinear, ndc: new THREE.Vector2((2 * x) / w - 1, 1 - (2 * (event.clientY - rect.top)) / h) };
  }

  private pick(event: PointerEvent) {
    const { onLinear, ndc } = this.pointer(event);
    const surface = onLinear ? this.linear : this.physical;
    if (!surface) return null;
    if (!surface.bvh) {
      // Who is faster than the worker waits for a tree here.
      const { tree } = this, roots = tree?.roots.map((root) => root.slice(0)); // each surface fits its own
      surface.bvh = tree ? MeshBVH.deserialize({ ...tree, roots: roots! }, surface.geometry, { setIndex: false }) : new MeshBVH(surface.geometry, { indirect: true });
      (surface.geometry as THREE.BufferGeometry & { boundsTree?: MeshBVH }).boundsTree = surface.bvh;
      surface.stale = !!tree;
    }
    if (surface.stale) surface.bvh.refit();
    surface.stale = false;
    const ray = new THREE.Raycaster();
    (ray as THREE.Raycaster & { firstHitOnly: boolean }).firstHitOnly = true;
    ray.setFromCamera(ndc, this.camera);
    const visible = surface.mesh.visible;
    surface.mesh.visible = true;
    const hit = ray.intersectObject(surface.mesh, false)[0];
    surface.mesh.visible = visible;
    if (!hit?.face) return null;
    const p = surface.geometry.attributes.position;
    const corner = new THREE.Vector3();
    let vertex = -1, best = Infinity;
    for (const v of [hit.face.a, hit.face.b, hit.face.c]) {
      const d = corner.fromBufferAttribute(p, v).distanceToSquared(hit.point);
      if (d < best) [best, vertex] = [d, v];
    }
    const triangle = surface.drawn[hit.faceIndex ?? 0], weights = new THREE.Vector3();
    const [a, b, c] = [hit.face.a, hit.face.b, hit.face.c].map((v) => new THREE.Vector3().fromBufferAttribute(p, v));
    THREE.Triangle.getBarycoord(hit.point, a, b, c, weights);
    return { vertex, point: hit.point, ray: ray.ray, triangle, barycentric: weights.toArray() };
  }

  private pickObstacle(event: PointerEvent): number {
    const { ndc } = this.pointer(event);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(ndc, this.camera);
    const hit = ray.intersectObjects(this.obstacles.group.children, true)[0];
    if (!hit) return -1;
    const surface = this.pick(event);
    if (surface && surface.point.distanceTo(this.camera.position) < hit.distance) return -1;
    return hit.object.userData.index as number;
  }

  /** Chooses the marker under the pointer, or moves the chosen one to the point of the face there. */
  private chooseMarker(event: PointerEvent): boolean {
    const rig = state.rig.peek(), take = state.take.peek(), chosen = state.selectedMarker.peek();
    const { ndc, onLinear } = this.pointer(event);
    if (!rig || !take || onLinear) return false;
    const { w, h } = this.half();
    const marker = this.markers.pick(ndc, this.camera, w, h);
    const hit = marker < 0 && chosen >= 0 ? this.pick(event) : null;
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
    if (event.button !== 0 || this.obstacles.isGrabbing) return;
    const tool = state.tool.peek();
    const obstacle = this.pickObstacle(event);
    if (obstacle >= 0) {
      state.selectedObstacle.value = obstacle;
      return;
    }
    if (tool === 'orbit') return;
    if (tool === 'map' && this.chooseMarker(event)) return;
    const hit = this.pick(event);
    if (!hit || tool === 'map') return;
    event.stopPropagation();
    this.orbit.enabled = false;
    this.host.setPointerCapture(event.pointerId);
    if (tool === 'lock') {
      this.painting = true;
      this.paint(event);
      return;
    }
    const normal = this.camera.getWorldDirection(new THREE.Vector3());
    this.drag = {
      vertex: hit.vertex,
      plane: new THREE.Plane().setFromNormalAndCoplanarPoint(normal, hit.point),
      gesture: newGesture(tool),
      index: state.scene.peek().pulls?.length ?? 0,
      moved: false,
      kind: tool,
    };
    this.dot.position.copy(hit.point);
    this.dot.visible = true;
    this.invalidate();
  }

  private onMove(event: PointerEvent) {
    if (this.painting) return this.paint(event);
    if (!this.drag) {
      const tool = state.tool.peek();
      if (tool === 'orbit' || event.buttons) return;
      const hit = this.pick(event);
      const was = this.dot.visible;
      this.dot.visible = !!hit;
      if (hit) this.dot.position.copy(hit.point);
      if (hit || was) this.invalidate();
      this.host.style.cursor = hit ? 'crosshair' : '';
      return;
    }
    const { ndc } = this.pointer(event);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(ndc, this.camera);
    const to = ray.ray.intersectPlane(this.drag.plane, new THREE.Vector3());
    if (to) this.dragTo(to);
  }

  dragTo(to: THREE.Vector3) {
    const drag = this.drag!;
    this.dot.position.copy(to);
    const target = to.toArray().map((x) => Math.round(x * 1e6) / 1e6);
    if (drag.kind === 'pose') send({ type: 'drag', vertex: drag.vertex, to: target, gesture: drag.gesture });
    else if (!drag.moved) {
      const ops: Operation[] = [];
      if (!state.scene.peek().pulls) ops.push({ op: 'add', path: '/pulls', value: [] });
      const value: Json = drag.kind === 'pin' ? { vertex: drag.vertex, to: target } : { vertex: drag.vertex, to: target, stiffness: 30 };
      ops.push({ op: 'add', path: '/pulls/-', value });
      patch(ops, `Pin vertex ${drag.vertex}`, drag.kind === 'pin' ? { gesture: drag.gesture } : { trial: true });
    } else
      patch([{ op: 'replace', path: `/pulls/${drag.index}/to`, value: target }], `Pin vertex ${drag.vertex}`,
        drag.kind === 'pin' ? { gesture: drag.gesture } : { trial: true });
    drag.moved = true;
    this.drawMarks();
  }

  private onUp(event: PointerEvent) {
    if (!this.drag && !this.painting) return;
    if (this.host.hasPointerCapture(event.pointerId)) this.host.releasePointerCapture(event.pointerId);
    if (this.painting) {
      this.painting = false;
      this.orbit.enabled = true;
      this.dot.visible = false;
      return this.keepPaint();
    }
    if (!this.drag) return;
    if (this.drag.kind === 'pull' && this.drag.moved) settle();
    this.drag = null;
    this.orbit.enabled = true;
    this.dot.visible = this.line.visible = false;
    this.invalidate();
  }

  private drawMarks() {
    if (this.drag && this.physical) {
      const p = this.physical.geometry.attributes.position;
      const line = this.line.geometry.attributes.position as THREE.BufferAttribute;
      line.setXYZ(0, p.getX(this.drag.vertex), p.getY(this.drag.vertex), p.getZ(this.drag.vertex));
      line.setXYZ(1, this.dot.position.x, this.dot.position.y, this.dot.position.z);
      line.needsUpdate = true;
      this.line.visible = true;
    }
    this.invalidate();
  }

  // ---- locks ----------------------------------------------------------------------------------

  /** Adds the vertices under the brush; with Alt takes them away. */
  private paint(event: PointerEvent) {
    const hit = this.pick(event);
    const rig = state.rig.peek();
    if (!hit || !rig) return;
    const { onLinear } = this.pointer(event);
    const p = (onLinear ? this.linear : this.physical)!.geometry.attributes.position.array as Float32Array;
    const reach = (state.brush.peek() * this.diagonal) ** 2;
    for (let v = 0; v < rig.vertices; v++) {
      const x = p[3 * v] - hit.point.x, y = p[3 * v + 1] - hit.point.y, z = p[3 * v + 2] - hit.point.z;
      if (x * x + y * y + z * z > reach) continue;
      if (event.altKey) this.painted.delete(v);
      else this.painted.add(v);
      (this.mark.array as Float32Array)[v] = event.altKey ? 0 : 1;
    }
    this.mark.needsUpdate = true;
    this.dot.position.copy(hit.point);
    this.dot.visible = true;
    this.invalidate();
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

  private showLocks(rig: state.Rig | null, locks: state.Lock[], selected: number) {
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
    this.invalidate();
  }

  /** For tests: where a vertex is on the screen, in the physical view. */
  project(vertex: number): { x: number; y: number } | null {
    if (!this.physical) return null;
    const point = new THREE.Vector3().fromBufferAttribute(this.physical.geometry.attributes.position, vertex).project(this.camera);
    const { split, w, h } = this.half();
    const rect = this.host.getBoundingClientRect();
    return { x: rect.left + (split ? w : 0) + ((point.x + 1) / 2) * w, y: rect.top + ((1 - point.y) / 2) * h };
  }
}
