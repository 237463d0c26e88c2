// The connection to the server (docs/protocol.md): reconnects by itself, applies patches.
import { batch } from '@preact/signals';
import { escapeKey, type Json, type Operation } from './patch';
import * as sceneCopy from './scene_copy';
import * as state from './state';

let socket: WebSocket | null = null;
let retry = 250;
let gestureNumber = 0;
const waiting: { revision: number; sent: number }[] = [];
/** Solves of a take that are kept for comparison. */
export const MOST_SOLVES = 6;
const samples: { shape: number; picture: number }[] = [];
/** Of the scene that could not be shown: older frames, which may come later, do not answer it. */
let problemRevision = 0;
/** Comes just before the frames of its preview. */
let previewRig: state.Rig | null = null;
let afterFrame: ((drawn: () => void, seen: () => void) => void) | null = null;

/** The view calls `drawn` when it has told WebGL what to draw, and `seen` when that is done. */
export const onShape = (show: (drawn: () => void, seen: () => void) => void) => (afterFrame = show);

export function send(message: object) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

export const newGesture = (name: string) => `${name}-${Date.now().toString(36)}-${++gestureNumber}`;

/** Changes the scene here at once and on the server. */
export function patch(
  ops: Operation[],
  label: string,
  options: { gesture?: string; trial?: boolean } = {},
) {
  if (state.connection.value !== 'open') return;
  send({ type: 'patch', id: sceneCopy.propose(ops), ops, label, ...options });
}

/** Sets members of an object of the scene, making it when it is missing. */
export function setMembers(
  parent: 'weights' | 'parameters' | 'attenuation' | 'time' | 'studio',
  values: { [name: string]: Json | undefined },
  label: string,
  gesture?: string,
) {
  const ops: Operation[] = [];
  const there = state.scene.value[parent] as { [name: string]: Json } | undefined;
  if (!there) ops.push({ op: 'add', path: `/${parent}`, value: {} });
  for (const [name, value] of Object.entries(values)) {
    const path = `/${parent}/${escapeKey(name)}`;
    if (value !== undefined) ops.push({ op: 'add', path, value });
    else if (there && name in there) ops.push({ op: 'remove', path });
  }
  if (ops.length) patch(ops, label, { gesture });
}

/** Moves sliders of the pose. While a frame of the clip is shown, the pose starts from it. */
export function setWeights(values: { [name: string]: number }, label: string, gesture?: string) {
  if (state.time.value.frame >= 0) {
    const all: { [name: string]: number } = {};
    for (const slider of state.rig.value?.sliders ?? []) {
      const value = values[slider.name] ?? state.weights.value[slider.name];
      if (value !== slider.rest) all[slider.name] = Math.round(value * 1e4) / 1e4;
    }
    state.time.value = { ...state.time.value, frame: -1, playing: false };
    patch([{ op: 'add', path: '/weights', value: all }], label, { gesture });
  } else setMembers('weights', values, label, gesture);
}

export const undo = () => send({ type: 'undo' });
export const redo = () => send({ type: 'redo' });
export const settle = () => send({ type: 'settle' });
export const cancel = () => send({ type: 'cancel' });
export const open = (what: { example?: string; sample?: string }) => send({ type: 'open', ...what });
export function seek(frame: number) {
  state.playhead.value = Math.max(0, frame);
  send({ type: 'seek', frame });
}
export function play(on: boolean) {
  const { frame, loop } = state.time.value;
  const last = state.clip.value.frames - 1;
  const from = frame < 0 ? state.playhead.value : frame >= last && !loop ? 0 : frame;
  send({ type: 'play', on, loop, frame: Math.max(0, Math.min(from, last)) });
}

export async function sendFiles(files: File[], use?: 'obstacle') {
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > 500e6) return state.tell('Files over 500 MB cannot be dropped', 'error');
  const header = new TextEncoder().encode(
    JSON.stringify({ type: 'files', use, files: files.map((f) => ({ name: f.name, size: f.size })) }),
  );
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, header.length, true);
  socket?.send(await new Blob([length, header, ...files]).arrayBuffer());
}

// ---- what the server says --------------------------------------------------------------------

interface Header {
  type: string;
  arrays: [string, 'f32' | 'u32' | 'i32' | 'u8', number][];
  [key: string]: unknown;
}

export function readBinary(buffer: ArrayBuffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header: Header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays: { [name: string]: ArrayBufferView } = {};
  let at = 4 + length;
  for (const [name, type, count] of header.arrays) {
    if (type === 'f32') arrays[name] = new Float32Array(buffer, at, count);
    else if (type === 'u32') arrays[name] = new Uint32Array(buffer, at, count);
    else if (type === 'i32') arrays[name] = new Int32Array(buffer, at, count);
    else arrays[name] = new Uint8Array(buffer, at, count);
    at += count * (type === 'u8' ? 1 : 4);
  }
  return { header, arrays };
}

function readRig(header: Header, arrays: { [name: string]: ArrayBufferView }): state.Rig {
  let at = 0;
  const members = arrays.region_vertices as Uint32Array;
  const regions = (header.regions as { name: string; count: number }[]).map((region) => {
    const vertices = members.subarray(at, at + region.count);
    at += region.count;
    return { name: region.name, vertices };
  });
  return {
    vertices: header.vertices as number,
    diagonal: header.diagonal as number,
    moved: header.moved as state.Rig['moved'],
    sliders: header.sliders as state.Slider[],
    parts: header.parts as string[],
    regions,
    neutral: arrays.neutral as Float32Array,
    triangles: arrays.triangles as Uint32Array,
    triangleFace: arrays.triangle_face as Uint32Array,
    trianglePart: arrays.triangle_part as Int32Array,
  };
}

function onBinary(buffer: ArrayBuffer) {
  const { header, arrays } = readBinary(buffer);
  if (header.type === 'rig') {
    performance.mark('rig');
    batch(() => {
      state.shape.value = null;
      state.selectedSliders.value = [];
      state.selectedObstacle.value = -1;
      state.playhead.value = 0;
      state.problem.value = null;
      state.warnings.value = [];
      state.interference.value = null;
      state.modes.value = null;
      state.meshes.value = new Map();
      state.modeShapes.value = [];
      state.take.value = null;
      state.trace.value = null;
      state.solves.value = [];
      state.beside.value = null;
      state.selectedMarker.value = state.selectedLock.value = -1;
      state.modesAsked.value = { revision: -1, waiting: false };
      state.rig.value = readRig(header, arrays);
    });
  } else if (header.type === 'frame') {
    const figures = header as unknown as state.Figures;
    if (!figures.building && figures.revision >= problemRevision) state.problem.value = null;
    if (newest) overtaken++;
    newest = { shape: { ...figures, positions: arrays.positions as Float32Array, linear: arrays.linear as Float32Array }, arrived: performance.now() };
  } else if (header.type === 'interference') {
    state.interference.value = { ...(header as unknown as state.Interference), disturbance: arrays.disturbance as Float32Array };
  } else if (header.type === 'modes') {
    state.modesAsked.value = { ...state.modesAsked.peek(), waiting: false };
    state.modes.value = {
      frames: header.frames as number,
      step: header.step as number,
      frequency: arrays.frequency as Float32Array,
      damping: arrays.damping as Float32Array,
      z: arrays.z as Float32Array,
    };
  } else if (header.type === 'mode_shapes') {
    const all = arrays.shapes as Float32Array, n = all.length / Math.max(1, header.count as number);
    state.modeShapes.value = Array.from({ length: header.count as number }, (_, i) => all.subarray(i * n, (i + 1) * n));
  } else if (header.type === 'preview_rig') {
    previewRig = readRig(header, arrays);
  } else if (header.type === 'preview' && previewRig) {
    const { example, frames, seconds, back, obstacles, camera } = header as unknown as Omit<state.Preview, 'rig' | 'linear' | 'physical'> & { example: string };
    const preview = { rig: previewRig, frames, seconds, back, obstacles: obstacles ?? [], camera, linear: arrays.linear as Float32Array, physical: arrays.physical as Float32Array };
    state.previews.value = new Map(state.previews.peek()).set(example, preview);
  } else if (header.type === 'take') {
    state.take.value = {
      names: header.names as string[],
      doubts: header.doubts as (string | null)[],
      frames: header.frames as number,
      triangle: arrays.triangle as Int32Array,
      corner: arrays.corner as Uint32Array,
      barycentric: arrays.barycentric as Float32Array,
      markers: arrays.markers as Float32Array,
    };
  } else if (header.type === 'curves') {
    state.trace.value = { frames: header.frames as number, step: header.step as number, names: header.names as string[], values: arrays.values as Float32Array };
  } else if (header.type === 'errors') {
    const name = header.name as string;
    state.solving.value = state.solving.value.filter((n) => n !== name);
    const kept = state.solves.value.filter((solve) => solve.name !== name);
    state.solves.value = [...kept, { name, errors: arrays.error as Float32Array, positions: arrays.positions as Float32Array }].slice(-MOST_SOLVES);
    if (!state.solves.value.includes(state.beside.value!)) state.beside.value = state.solves.value.find((s) => s.name === state.beside.value?.name) ?? null;
  } else if (header.type === 'mesh') {
    const mesh = { positions: arrays.positions as Float32Array, triangles: arrays.triangles as Uint32Array };
    state.meshes.value = new Map(state.meshes.value).set(header.file as string, mesh);
  } else if (header.type === 'file') download(header.name as string, arrays.bytes as Uint8Array);
}

/** The frame that came last and is not drawn yet. Those before it are left out: each costs normals and an upload. */
let newest: { shape: state.Shape; arrived: number } | null = null;
let overtaken = 0;

/** The view calls it before it draws. */
export function showNewest() {
  if (!newest) return;
  const { shape, arrived } = newest;
  newest = null;
  for (; overtaken > 0; overtaken--) send({ type: 'shown' });
  batch(() => {
    state.shape.value = shape;
    if (shape.frame >= 0) {
      state.playhead.value = shape.frame;
      if (state.time.value.playing) state.time.value = { ...state.time.value, frame: shape.frame };
    }
  });
  const drawn = () => send({ type: 'shown' });
  if (afterFrame) afterFrame(drawn, () => measure(shape.revision, arrived));
  else drawn();
}

function measure(revision: number, arrived: number) {
  if (!performance.getEntriesByName('face').length) performance.mark('face');
  let sent = 0;
  for (let i = waiting.length - 1; i >= 0; i--)
    if (waiting[i].revision <= revision) {
      // Of the changes that one frame answers, the newest counts: older ones were overtaken.
      sent = Math.max(sent, waiting[i].sent);
      waiting.splice(i, 1);
    }
  if (!sent) return;
  samples.push({ shape: arrived - sent, picture: performance.now() - sent });
  if (samples.length > 300) samples.shift();
  const quantiles = (which: 'shape' | 'picture') => {
    const sorted = samples.map((sample) => sample[which]).sort((a, b) => a - b);
    const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
    return { p50: at(0.5), p95: at(0.95) };
  };
  state.latency.value = { count: samples.length, ...quantiles('picture'), shape: quantiles('shape') };
}
export const clearLatency = () => {
  samples.length = waiting.length = 0;
  state.latency.value = null;
};

export function download(name: string, data: Uint8Array | string | Blob) {
  const blob = data instanceof Blob ? data : new Blob([data as BlobPart]);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  state.tell(`Saved ${name}`, 'done');
}

/** As a person reads it: without the place in the document, and without the folder of dropped files. */
const plainMessage = (text: string) =>
  text.replace(/^the scene: (\/[^\s:]*: )?/, '').replace(/[^\s:'"]*\.studio\/files\/(\d+\/)?([^\/\s]*\.poses\/)?/g, '').replace(/^[a-z](?=[a-z]* )/, (c) => c.toUpperCase());

// eslint-disable-next-line @typescript-eslint/no-explicit-any
function onText(message: any) {
  switch (message.type) {
    case 'hello':
      state.hello.value = message;
      document.title = `${message.project} · Sinew studio`;
      break;
    case 'scene':
      batch(() => {
        sceneCopy.reset(message.scene);
        state.revision.value = message.revision;
        state.history.value = message.history;
      });
      break;
    case 'patch':
      batch(() => {
        const sent = sceneCopy.confirm(message.ops, message.page === state.hello.value?.page ? message.id : null);
        if (sent !== null) waiting.push({ revision: message.revision, sent });
        state.revision.value = message.revision;
        state.history.value = message.history;
        // Both were about the scene before. A problem that still holds is told again, a warning only when a model is built.
        if (message.ops.some(({ path }: Operation) => !path.startsWith('/weights') && !path.startsWith('/studio'))) state.problem.value = null;
        if (message.ops.some(({ path }: Operation) => path === '' || path === '/model')) state.warnings.value = [];
      });
      break;
    case 'clip':
      state.clip.value = message;
      break;
    case 'time':
      batch(() => {
        state.time.value = message;
        if (message.frame >= 0) state.playhead.value = message.frame;
      });
      break;
    case 'progress':
      state.progress.value = message;
      break;
    case 'idle':
    case 'solved':
      state.progress.value = null;
      break;
    case 'cancelled':
      state.progress.value = null;
      state.tell('Cancelled: the last shape stays');
      break;
    case 'problem':
      batch(() => {
        state.progress.value = null;
        problemRevision = message.revision;
        state.problem.value = plainMessage(message.message);
      });
      break;
    case 'warning':
      state.warnings.value = [...new Set([...state.warnings.value, plainMessage(message.message)])].slice(-5);
      break;
    case 'error':
      sceneCopy.refuse(message.id); // the scene follows
      batch(() => {
        state.solving.value = [];
        state.modesAsked.value = { ...state.modesAsked.value, waiting: false };
        // The model may have changed since the page asked.
        if (message.about !== 'modes' || state.modelName.value === 'modal') state.tell(message.message, 'error');
      });
      break;
    case 'saved':
      state.tell(`Saved ${message.path}`, 'done');
      break;
  }
}

export function connect() {
  const token = new URLSearchParams(location.search).get('t') ?? '';
  const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws?t=${token}`;
  socket = new WebSocket(url, 'sinew-studio-1');
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    retry = 250;
    state.connection.value = 'open';
  };
  socket.onmessage = (event) => {
    if (typeof event.data === 'string') onText(JSON.parse(event.data));
    else onBinary(event.data);
  };
  socket.onclose = () => {
    state.connection.value = 'lost';
    state.progress.value = null;
    sceneCopy.forget();
    waiting.length = 0;
    newest = null;
    overtaken = 0;
    state.solving.value = [];
    state.modesAsked.value = { revision: -1, waiting: false };
    setTimeout(connect, retry);
    retry = Math.min(2000, retry * 1.5);
  };
}
