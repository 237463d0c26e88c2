// What the page knows. The server owns the scene; these signals mirror it.
import { computed, effect, signal, type ReadonlySignal } from '@preact/signals';
import type { Json } from './patch';

export interface Slider {
  name: string;
  minimum: number | null;
  maximum: number | null;
  rest: number;
  group: string | null;
  mirror: number;
}
export interface Rig {
  vertices: number;
  diagonal: number;
  sliders: Slider[];
  /** Lowest and highest corner of what targets move. */
  moved: [number, number, number, number, number, number] | null;
  regions: { name: string; vertices: Uint32Array }[];
  parts: string[];
  neutral: Float32Array;
  triangles: Uint32Array;
  triangleFace: Uint32Array;
  trianglePart: Int32Array;
}
export interface Figures {
  revision: number;
  frame: number;
  time: number;
  converged: boolean;
  iterations: number;
  residual: number | null;
  ms: number;
  build_ms: number;
  contacts: number;
  inverted: number;
  /** The model is not built yet: both shapes are the linear blend. */
  building: boolean;
  weights: number[];
}
export interface Shape extends Figures {
  positions: Float32Array;
  linear: Float32Array;
}
export interface Parameter {
  name: string;
  kind: 'number' | 'integer' | 'flag' | 'choice' | 'text' | 'file' | 'numbers';
  fallback: number;
  minimum?: number;
  maximum?: number;
  choices?: string;
  unit: string;
  help: string;
  cost: 'nothing' | 'state' | 'structure' | 'rig';
}
export interface Model {
  name: string;
  summary: string;
  parameters: Parameter[];
}
export interface Example {
  name: string;
  title: string;
  hint: string;
  rig: string;
}
export interface Hello {
  version: string;
  project: string;
  page: number;
  models: Model[];
  samples: { name: string; summary: string }[];
  examples: Example[];
}
export interface Obstacle {
  shape: 'sphere' | 'plane' | 'capsule' | 'cylinder' | 'box' | 'mesh' | 'part';
  name?: string;
  center?: number[];
  radius?: number;
  point?: number[];
  normal?: number[];
  from?: number[];
  to?: number[];
  half?: number[];
  file?: string;
  motion?: { time: number; move?: number[]; turn?: number[] }[];
  enabled?: boolean;
}
export interface Lock {
  name?: string;
  select: string;
  axes?: string;
  enabled?: boolean;
}
export interface Scene {
  sinew: number;
  rig?: { sample?: string; files?: string[]; vertices?: number };
  model?: string;
  parameters?: { [name: string]: Json };
  weights?: { [name: string]: number };
  curves?: { file?: string; times?: number[]; values?: { [name: string]: number[] } };
  keys?: { time: number; pose?: string; weights?: { [name: string]: number } }[];
  markers?: { file: string; map?: string };
  time?: { fps?: number; from?: number; to?: number };
  obstacles?: Obstacle[];
  pulls?: { vertex: number; to: number[]; stiffness?: number }[];
  locks?: Lock[];
  attenuation?: { [name: string]: Json };
  studio?: { [name: string]: Json };
}
export type Tool = 'orbit' | 'pull' | 'pose' | 'pin' | 'lock' | 'map';
export type Compare = 'side' | 'ghost' | 'single';
export type Overlay = 'none' | 'difference' | 'motion' | 'stretch';
export interface Toast {
  id: number;
  text: string;
  kind: 'error' | 'note' | 'done';
}

export const connection = signal<'connecting' | 'open' | 'lost'>('connecting');
export const hello = signal<Hello | null>(null);
export const scene = signal<Scene>({ sinew: 1 });
export const revision = signal(0);
export const history = signal<{ undo: string[]; redo: string[] }>({ undo: [], redo: [] });
export const rig = signal<Rig | null>(null);
export const shape = signal<Shape | null>(null);
export const clip = signal({ frames: 0, rate: 30, start: 0 });
export const time = signal({ frame: -1, playing: false, loop: true });
/** Where keys go while a pose is shown: the last frame that was. */
export const playhead = signal(0);
export const progress = signal<{ stage: string; fraction: number } | null>(null);
export const problem = signal<string | null>(null);
export const warnings = signal<string[]>([]);
export const toasts = signal<Toast[]>([]);

/** Triangles of mesh obstacles, by file. */
export const meshes = signal(new Map<string, { positions: Float32Array; triangles: Uint32Array }>());

export const tool = signal<Tool>('orbit');
/** The last pulls of the scene, which end when the hand lets go. */
export const pullsOfHand = signal(0);
export const compare = signal<Compare>('side');
export const overlay = signal<Overlay>('none');
export const wireframe = signal(false);
export const selectedObstacle = signal(-1);
/** The lock that the brush paints; -1: a new one. */
export const selectedLock = signal(-1);
/** Radius of the lock brush, as a fraction of the diagonal. */
export const brush = signal(0.04);
export const gizmoMode = signal<'translate' | 'rotate'>('translate');
export const selectedSliders = signal<string[]>([]);
export const heatRange = signal(0);
/** Largest distance between the two shapes. */
export const apart = signal(0);
export const dialog = signal<'start' | 'help' | 'export' | 'interference' | null>(null);
export interface Interference {
  targets: string[];
  sliders: (string | null)[];
  worst: { disturbed: number; disturber: number; disturbance: number; cosine: number }[];
  disturbance: Float32Array;
}
export const interference = signal<Interference | null>(null);
export interface ModesData {
  frames: number;
  step: number;
  frequency: Float32Array;
  damping: Float32Array;
  z: Float32Array;
}
/** Of a modal scene; z has a row per mode with its weight in each frame. */
export const modes = signal<ModesData | null>(null);
/** Revision of the motion that was asked for last, and whether its answer is still to come. */
export const modesAsked = signal({ revision: -1, waiting: false });
/** Slider weights over the clip as the server has them: of clips that come from a file. */
export const trace = signal<{ frames: number; step: number; names: string[]; values: Float32Array } | null>(null);
/** The rest shape displaced by each of the slowest modes. */
export const modeShapes = signal<Float32Array[]>([]);
/** An example on a light rig, in a few frames: all linear shapes and all physical ones. */
export interface Preview {
  rig: Rig;
  frames: number;
  seconds: number;
  /** Played back and forth. */
  back: boolean;
  obstacles: Obstacle[];
  camera?: string;
  linear: Float32Array;
  physical: Float32Array;
}
export const previews = signal(new Map<string, Preview>());
/** A take on the face: a point of the surface per marker, and its position in each frame. */
export interface Take {
  names: string[];
  doubts: (string | null)[];
  frames: number;
  triangle: Int32Array;
  corner: Uint32Array;
  barycentric: Float32Array;
  markers: Float32Array;
}
export const take = signal<Take | null>(null);
export const selectedMarker = signal(-1);
/** A solve of the whole take: the marker error of each frame and its shape (empty: too large). */
export interface Solve {
  name: string;
  errors: Float32Array;
  positions: Float32Array;
}
/** Solves that were asked for; the ones that were kept; the one in the left view. */
export const solving = signal<string[]>([]);
export const solves = signal<Solve[]>([]);
export const beside = signal<Solve | null>(null);
/** From a change in this page to its picture, and to its shape's arrival in the page; in ms. */
export const latency = signal<{ count: number; p50: number; p95: number; shape: { p50: number; p95: number } } | null>(null);

function saved(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // private windows have no storage
  }
}
export const theme = signal<'dark' | 'light'>(saved('sinew-theme') === 'light' ? 'light' : 'dark');
/** Pixels; null: as the style sheet has it. */
export const timeHeight = signal<number | null>(Number(saved('sinew-timeline')) || null);

const part = <K extends keyof Scene>(key: K) => computed(() => scene.value[key]);
/** Members of the scene, a signal each: a slider that moves does not wake who reads the curves. */
export const member = {
  rig: part('rig'),
  model: part('model'),
  parameters: part('parameters'),
  weights: part('weights'),
  curves: part('curves'),
  keys: part('keys'),
  markers: part('markers'),
  obstacles: part('obstacles'),
  pulls: part('pulls'),
  locks: part('locks'),
  attenuation: part('attenuation'),
  studio: part('studio'),
};
export const modelName = computed(() => member.model.value ?? 'linear');
export const model = computed(() => hello.value?.models.find((m) => m.name === modelName.value));
export const example = computed(() =>
  hello.value?.examples.find((e) => e.name === member.studio.value?.example),
);

/** The hint over the view: of an example, or for who has changed nothing yet. */
export const coach = computed<'example' | 'first' | null>(() => {
  if (!rig.value || member.studio.value?.hint === false) return null;
  if (example.value) return 'example';
  return history.value.undo.length || history.value.redo.length || !rig.value.sliders.length ? null : 'first';
});

/** Something moves over time; without it, the timeline is a line of text. */
export const hasClip = computed(() => !!(member.curves.value || member.markers.value || member.keys.value));

/** A scene may open with an overlay; it stays until another scene, or a person, chooses another. */
const overlayOfScene = computed(() => member.studio.value?.overlay);
effect(() => {
  const chosen = overlayOfScene.value;
  overlay.value = chosen === 'difference' || chosen === 'stretch' || chosen === 'motion' ? chosen : 'none';
});

export const showsClip = computed(() => time.value.frame >= 0);

/** Slider weights on the screen: of the pose, or of the frame that is shown. */
export const weights = computed<{ [name: string]: number }>(() => {
  const sliders = rig.value?.sliders ?? [];
  const result: { [name: string]: number } = {};
  const shown = showsClip.value ? shape.value : null;
  sliders.forEach((slider, i) => {
    const live = member.weights.value?.[slider.name];
    result[slider.name] =
      shown && shown.frame >= 0 ? (shown.weights[i] ?? slider.rest) : (live ?? slider.rest);
  });
  return result;
});

const single = new Map<string, ReadonlySignal<number>>();
/** The weight of one slider: rows of the other sliders stay as they are. */
export function weightOf(name: string): ReadonlySignal<number> {
  let found = single.get(name);
  if (!found) single.set(name, (found = computed(() => weights.value[name] ?? 0)));
  return found;
}

/** What the left view shows. */
export const leftName = computed(() => {
  if (beside.value && showsClip.value) return beside.value.name;
  return 'Linear';
});

/** The same within a sentence; names of methods stay as they are. */
export const leftInText = computed(() => leftName.value.replace(/^Linear$/, 'linear'));

/** Middle of the rig's box. */
export const center = computed(() => {
  const p = rig.value?.neutral ?? new Float32Array(3);
  return [0, 1, 2].map((k) => {
    let low = Infinity, high = -Infinity;
    for (let i = k; i < p.length; i += 3) [low, high] = [Math.min(low, p[i]), Math.max(high, p[i])];
    return (low + high) / 2;
  });
});
/** The model of the right view, with what sets it apart from its default. */
export const modelLabel = computed(() => {
  const { method, layer } = (member.parameters.value ?? {}) as { method?: string; layer?: boolean };
  const name = modelName.value.replace(/^./, (c) => c.toUpperCase());
  const isLocked = member.locks.value?.some((lock) => lock.enabled !== false);
  return `${name}${modelName.value === 'fit' ? ` ${(method ?? 'rsbs').toUpperCase()}` : ''}${layer ? ' + layer' : ''}${isLocked ? ' with locks' : ''}`;
});
/** Millimeters where the rig is in meters; larger rigs are in units of their own. */
export const lengthUnit = computed(() => ((rig.value?.diagonal ?? 1) < 3 ? { name: 'mm', scale: 1000 } : { name: 'units', scale: 1 }));
/** Fraction of the diagonal below which a distance cannot be seen, and means little in float32. */
export const LEAST_SEEN = 1e-5;
export const isTiny = (length: number) => length < LEAST_SEEN * (rig.value?.diagonal ?? 1);
export const lengthText = (x: number) => `${Number((x * lengthUnit.value.scale).toPrecision(2))} ${lengthUnit.value.name}`;

let toastNumber = 0;
export function tell(text: string, kind: Toast['kind'] = 'note') {
  const id = ++toastNumber;
  // What went wrong replaces what was announced.
  const kept = toasts.value.filter((t) => t.text !== text && (kind !== 'error' || t.kind === 'error'));
  toasts.value = [...kept, { id, text, kind }].slice(-4);
  setTimeout(
    () => (toasts.value = toasts.value.filter((t) => t.id !== id)),
    kind === 'error' ? 8000 : 3500,
  );
}
