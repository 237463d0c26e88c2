// The viewport: one renderer, two views with one camera.
import { effect } from '@preact/signals';
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import type { SerializedBVH } from 'three-mesh-bvh';
import { ContactShadow } from './contact_shadow';
import { onShape, showNewest } from './link';
import { MarkerMarks } from './markers';
import { obstacleMesh } from './obstacles';
import { ObstacleStage } from './obstacle_stage';
import { computeNormals, ghostMaterial, paintRig, visibleTriangles, studioEnvironment, surfaceMaterials } from './shading';
import { pngOf, recordVideo } from './pictures';
import * as state from './state';
import { Surface, type Hit } from './surface';
import { SurfaceTools } from './surface_tools';
import type { SurveyAnswer, SurveyRequest } from './survey';
import { finished } from './finished';
import { frameRig } from './framing';
import { Thumbnails } from './thumbnails';

/** Milliseconds without a change after which a draft becomes a picture. */
const REST = 350;
/** Pixels at the upper and lower edge of the view that tags and tools cover; those of the hint come on top. */
const COVERED = { above: 72, below: 56, hint: 48 };
/** Without a GPU, what moves is drawn with fewer pixels from where a picture takes longer than `long` milliseconds until one takes less than `short`. */
const MOVING = { long: 25, short: 18, ratio: 0.75 };
/** Of a picture at rest without a GPU: about a tenth of a second of two processors. */
const FINE_PIXELS = 2.5e6;

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
  private ghostMaterial = ghostMaterial();
  private wireMaterial = new THREE.LineBasicMaterial({ color: 0x10141a, transparent: true, opacity: 0.22 });
  readonly obstacles: ObstacleStage;
  private tools: SurfaceTools;
  private shadows: { linear: ContactShadow; physical: ContactShadow };
  readonly markers = new MarkerMarks();
  private thumbnails: Thumbnails | null = null;
  private previews = new Map<state.Preview, { camera: THREE.PerspectiveCamera; thumbnails: Thumbnails }>();
  private homeCamera = new THREE.PerspectiveCamera();
  /** What is in the frame, until somebody turns the view. */
  private framed: 'moved part' | 'whole' | null = null;
  /** Pixels by which the picture is moved up, out of what covers it. */
  private lift = 0;
  private dirty = true;
  private afterRender: (() => void)[] = [];
  private restEdges: Uint32Array = new Uint32Array();
  private newRig: state.Rig | null = null;
  private hasNewRig = false;
  private tree: SerializedBVH | null = null;
  private worker: Worker | null = null;
  diagonal = 1;
  private floor = 0;
  /** A new rig is framed until its first physical shape is there, or somebody turns the view. */
  private isFraming = false;
  private frames = 0;
  private busyFrames = 0;
  private lastDraw = 0;
  private pace = 16;
  /** No GPU: drafts only, which leaves the processor to the solver. */
  private software: boolean;
  /** Milliseconds that WebGL needs for a picture of something that moves, with all pixels; measured one at a time. */
  private drawTime = 0;
  private hasFewer = false;
  private isTiming = false;
  /** Graphics that cannot follow the hand draw drafts while things move. */
  private slow: boolean;
  /** Lends its programs to every surface. */
  private programs = surfaceMaterials();
  /** Drafts can be drawn; so can everything else. */
  private canDraw = false;
  private compiled = false;
  private pictured = () => {};
  private firstPicture = new Promise<void>((resolve) => (this.pictured = resolve));
  private sharp = false;

  constructor(readonly host: HTMLElement, right: HTMLElement) {
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
    this.scene.add(key, rim);
    // Obstacles and gizmos need something in place of the environment, which is not used without a GPU.
    if (software) this.scene.add(new THREE.HemisphereLight(0xffffff, 0xb8aca2, 1.5));
    this.shadows = { linear: new ContactShadow(this.renderer), physical: new ContactShadow(this.renderer) };
    this.scene.add(this.shadows.linear.plane, this.shadows.physical.plane);

    this.orbit = new OrbitControls(this.camera, host);
    this.orbit.enableDamping = false;
    this.orbit.addEventListener('change', () => this.invalidate());
    this.orbit.addEventListener('start', () => this.unframe());
    this.obstacles = new ObstacleStage(this.scene, this.camera, right, () => this.invalidate(), (held) => (this.orbit.enabled = !held));

    this.tools = new SurfaceTools(this);
    this.scene.add(this.tools.marks);
    new ResizeObserver(() => this.resize()).observe(host);

    effect(() => {
      this.newRig = state.rig.value;
      this.hasNewRig = true;
    });
    effect(() => {
      void state.beside.value;
      this.setShape(state.shape.value);
    });
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
    if (this.software && !this.isTiming) void this.timePicture();
    for (const done of this.afterRender.splice(0)) done();
    this.frames++;
  };

  private async timePicture() {
    const start = performance.now();
    this.isTiming = true;
    await finished(this.renderer.getContext() as WebGL2RenderingContext);
    this.drawTime += 0.4 * ((performance.now() - start) / (this.hasFewer ? MOVING.ratio : 1) - this.drawTime);
    this.hasFewer = this.drawTime > (this.hasFewer ? MOVING.short : MOVING.long);
    this.isTiming = false;
  }

  /** Without a GPU there is no antialiasing while things move, and fewer pixels where drawing cannot follow; at rest, more pixels make up for it. */
  private useSamples(rest: boolean) {
    if (!this.software) return;
    const { clientWidth: w, clientHeight: h } = this.host;
    const ratio = rest ? Math.max(1, Math.min(2, Math.sqrt(FINE_PIXELS / Math.max(1, w * h)))) : this.hasFewer ? MOVING.ratio : 1;
    if (ratio !== this.renderer.getPixelRatio()) this.renderer.setPixelRatio(ratio);
  }

  /**
   * Compiles before it is needed, while the rig is on its way, what will be drawn: a program that is not ready when it is used
   * stops the page. Drafts come first, and the rest waits for the first picture, which needs the processors more. The full material
   * takes seconds to compile without a GPU, and is not used there.
   */
  private async compile() {
    const { renderer, camera, scene, programs } = this;
    renderer.extensions.get('EXT_texture_filter_anisotropic'); // asked for later, it would wait for the compiler
    const surface = new THREE.BufferGeometry();
    for (const [name, size] of [['position', 3], ['normal', 3], ['color', 3], ['gaze', 4], ['heat', 1], ['shade', 1], ['mark', 1], ['apart', 1]] as const)
      surface.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * size), size));
    const draft = new THREE.Mesh<THREE.BufferGeometry, THREE.Material>(surface, programs.draft);
    const gl = renderer.getContext() as WebGL2RenderingContext;
    // Not every browser can tell when a program is ready, but all can tell when WebGL has done everything.
    await renderer.compileAsync(draft, camera, scene).then(() => finished(gl));
    this.canDraw = true;
    await this.firstPicture;
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

  private setRig(rig: state.Rig | null) {
    for (const surface of [this.linear, this.physical])
      if (surface) {
        this.scene.remove(surface.mesh, surface.wires);
        surface.dispose();
      }
    this.linear = this.physical = null;
    this.thumbnails?.dispose();
    this.thumbnails = null;
    if (!rig) return;
    const paint = paintRig(rig);
    this.diagonal = rig.diagonal || 1;
    this.tools.setRig(rig);
    const drawn = visibleTriangles(rig), normals = new Float32Array(3 * rig.vertices);
    computeNormals(rig.neutral, rig.triangles, normals);
    const common = new THREE.BufferGeometry();
    common.setIndex(new THREE.BufferAttribute(corners(rig.triangles, drawn), 1));
    common.setAttribute('color', new THREE.BufferAttribute(paint.color, 3));
    common.setAttribute('gaze', new THREE.BufferAttribute(paint.gaze, 4));
    common.setAttribute('shade', new THREE.BufferAttribute(new Float32Array(rig.vertices).fill(1), 1));
    common.setAttribute('mark', this.tools.mark);
    const make = () => new Surface(rig, drawn, common, normals, this.wireMaterial);
    [this.linear, this.physical] = [make(), make()];
    for (const surface of [this.linear, this.physical]) this.scene.add(surface.mesh, surface.wires);
    this.tree = null;
    this.restEdges = new Uint32Array();
    this.worker?.terminate();
    const shown = this.physical;
    this.afterRender.push(() => void finished(this.renderer.getContext() as WebGL2RenderingContext).then(() => {
      this.pictured();
      if (this.physical === shown) this.survey(rig, common, normals);
    }));
    let floor = Infinity;
    for (let i = 1; i < rig.neutral.length; i += 3) floor = Math.min(floor, rig.neutral[i]);
    this.placeFloor(floor);
    this.isFraming = true;
    this.home();
    this.updateOverlay();
    this.obstacles.set(state.scene.peek().obstacles ?? [], state.selectedObstacle.peek(), this.diagonal);
  }

  /** What takes long to find comes from a worker; tools and overlays do without until then. */
  private survey(rig: state.Rig, common: THREE.BufferGeometry, normals: Float32Array) {
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

  private unframe() {
    this.isFraming = false;
    this.framed = null;
  }

  /** Frames what moves, and the second time the whole rig. */
  frame() {
    this.home(this.framed === 'moved part');
  }

  private home(whole = false) {
    const rig = state.rig.value;
    if (!rig) return;
    const { w, h } = this.half();
    const above = COVERED.above, below = COVERED.below + (state.coach.peek() ? COVERED.hint : 0);
    const room = Math.max(0.5, 1 - (above + below) / Math.max(1, h));
    this.lift = (below - above) / 2;
    const { center, across, tall, aspect } = frameRig(this.camera, rig, state.scene.peek().studio?.camera as string | undefined, w / Math.max(1, h), this.shownShapes(rig), room, whole);
    this.orbit.target.copy(center);
    this.orbit.update();
    this.framed = whole ? 'whole' : 'moved part';
    this.invalidate();
    if (whole) return; // pictures of sliders show what moves
    this.homeCamera.copy(this.camera);
    this.homeCamera.clearViewOffset();
    this.homeCamera.zoom = Math.max(across / aspect, tall) / Math.max(across, tall); // for a square
  }

  /** The neutral and what the views show. */
  private shownShapes(rig: state.Rig): Float32Array {
    const shown = [this.linear, this.physical].flatMap((surface) => (surface ? [surface.positions] : []));
    const all = new Float32Array(rig.neutral.length * (shown.length + 1));
    [rig.neutral, ...shown].forEach((shape, i) => all.set(shape, i * rig.neutral.length));
    return all;
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
    this.linear.setPositions(this.leftShape(shape));
    this.physical.setPositions(shape.positions);
    this.shadows.linear.stale = this.shadows.physical.stale = true;
    this.measureShapes();
    if (this.isFraming) this.home();
    if (!shape.building) this.isFraming = false;
    this.updateOverlay();
    this.tools.drawLine();
    this.invalidate();
  }

  /** How far the two shapes are apart, and whether one of them reaches below the floor. */
  private measureShapes() {
    const a = this.linear!.positions, b = this.physical!.positions;
    const { apart } = this.linear!.geometry.attributes, distances = apart.array as Float32Array;
    let most = 0, lowest = this.floor;
    for (let i = 0; i < a.length; i += 3) {
      const x = a[i] - b[i], y = a[i + 1] - b[i + 1], z = a[i + 2] - b[i + 2];
      const distance = Math.sqrt(x * x + y * y + z * z);
      distances[i / 3] = distance / this.diagonal;
      most = Math.max(most, distance);
      lowest = Math.min(lowest, a[i + 1], b[i + 1]);
    }
    apart.needsUpdate = true;
    state.apart.value = most;
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
    const mode = state.overlay.peek(), surfaces = [this.linear, this.physical];
    for (const { materials } of surfaces) {
      materials.heatOn.value = mode === 'none' ? 0 : 1;
      // An offset would let the inside shine through at the silhouette: only where wires need it.
      for (const material of [materials.full, materials.draft]) material.polygonOffset = state.wireframe.peek();
    }
    if (mode !== 'none') {
      const tops = surfaces.map((surface) => surface.measureHeat(mode, this.linear!.positions, this.restEdges));
      const top = Math.max(...tops);
      for (const { materials } of surfaces) materials.heatScale.value = 1 / Math.max(top, state.LEAST_SEEN * this.diagonal);
      state.heatRange.value = top;
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
    this.camera.setViewOffset(w, Math.max(1, h), 0, this.lift, w, Math.max(1, h)); // sets the aspect, too
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
      this.tools.marks.visible = !isLinear;
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
    this.unframe();
    const step = Math.PI / 24, at = new THREE.Spherical().setFromVector3(this.camera.position.clone().sub(this.orbit.target));
    at.theta += step * right;
    at.phi = Math.max(0.01, Math.min(Math.PI - 0.01, at.phi - step * up));
    this.camera.position.setFromSpherical(at).add(this.orbit.target);
    this.orbit.update();
    this.invalidate();
  }

  zoom(factor: number) {
    this.unframe();
    this.camera.position.sub(this.orbit.target).divideScalar(factor).add(this.orbit.target);
    this.orbit.update();
    this.invalidate();
  }

  /** A video of one rotation about the vertical axis, from the present view. */
  async turntable(seconds = 4, rate = 24): Promise<Blob> {
    const home = this.camera.position.clone(), axis = new THREE.Vector3(0, 1, 0), count = seconds * rate;
    this.orbit.enabled = false;
    this.useSamples(false);
    try {
      return await recordVideo(this.renderer.domElement, count, rate, (k) => {
        const turned = home.clone().sub(this.orbit.target).applyAxisAngle(axis, (2 * Math.PI * k) / count);
        this.camera.position.copy(turned.add(this.orbit.target));
        this.camera.lookAt(this.orbit.target);
        this.render(!this.software && this.compiled, true);
      });
    } finally {
      this.camera.position.copy(home);
      this.orbit.enabled = true;
      this.orbit.update();
      this.invalidate();
    }
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
      // A tile is small: what happens in a face happens around its middle.
      camera.zoom = preview.camera ? 1.3 : preview.rig.regions.some((region) => region.name === 'lips') ? 1.5 : 1;
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
    return pngOf(this.renderer.domElement);
  }

  // ---- what the tools ask ---------------------------------------------------------------------

  /** Normalized device coordinates within the half under the pointer. */
  pointer(event: PointerEvent) {
    const rect = this.host.getBoundingClientRect();
    const { split, w, h } = this.half();
    let x = event.clientX - rect.left;
    const onLinear = split && x < w;
    if (split && !onLinear) x -= w;
    return { onLinear, ndc: new THREE.Vector2((2 * x) / w - 1, 1 - (2 * (event.clientY - rect.top)) / h) };
  }

  pick(event: PointerEvent): Hit | null {
    const { onLinear, ndc } = this.pointer(event);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(ndc, this.camera);
    return this.surface(onLinear)?.intersect(ray, this.tree) ?? null;
  }

  surface(onLinear: boolean) {
    return onLinear ? this.linear : this.physical;
  }

  get halfSize() {
    return this.half();
  }

  allowOrbit(on: boolean) {
    this.orbit.enabled = on;
  }

  /** For tests: where a vertex is on the screen, in the physical view. */
  project(vertex: number): { x: number; y: number } | null {
    if (!this.physical) return null;
    const point = new THREE.Vector3().fromArray(this.physical.positions, 3 * vertex).project(this.camera);
    const { split, w, h } = this.half();
    const rect = this.host.getBoundingClientRect();
    return { x: rect.left + (split ? w : 0) + ((point.x + 1) / 2) * w, y: rect.top + ((1 - point.y) / 2) * h };
  }
}
