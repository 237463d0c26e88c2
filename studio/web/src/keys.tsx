// Keys of the clip: of slider curves, or poses that modes move between. A diamond each; drag it in time.
import { newGesture, patch, seek } from './link';
import type { Operation } from './patch';
import * as state from './state';

/** Curves with more times than this are recordings: their values are not keys that somebody set. */
export const MOST_KEYS = 60;

const seconds = (frame: number) => state.clip.peek().start + frame / (state.clip.peek().rate || 30);
const round = (t: number) => Math.round(t * 1e6) / 1e6;

/** Poses or curve times, whichever drives the clip. */
const poses = () => (state.scene.peek().model === 'modal' ? state.scene.peek().keys : undefined);
function keyTimes(): number[] {
  if (state.modelName.value === 'modal') return state.member.keys.value?.map((key) => key.time) ?? [];
  const times = state.member.curves.value?.times ?? [];
  return times.length <= MOST_KEYS ? times : [];
}

/** The pose on the screen, without sliders at rest. */
function shownPose(): { [name: string]: number } {
  const kept = Object.entries(state.weights.peek()).filter(([, w]) => Math.abs(w) > 1e-4);
  return Object.fromEntries(kept.map(([name, w]) => [name, Math.round(w * 1e4) / 1e4]));
}

function setPose(t: number) {
  const keys = poses() ?? [];
  const key = { time: t, weights: shownPose() };
  const others = keys.filter((k) => Math.abs(k.time - t) > 1e-4);
  const value = [...others, key].sort((a, b) => a.time - b.time);
  const ops: Operation[] = [{ op: 'add', path: '/keys', value: value as never }];
  const end = state.scene.peek().time?.to;
  if (value.length > 1 && end !== undefined && value[value.length - 1].time > end) ops.push({ op: 'add', path: '/time/to', value: value[value.length - 1].time });
  patch(ops, `Key pose at ${t.toFixed(2)} s`);
  seek(state.playhead.peek());
}

/** Puts the pose on the screen into the clip, at the playhead. */
export function setKey() {
  const curves = state.scene.peek().curves;
  const t = round(seconds(state.playhead.peek()));
  const pose = state.weights.peek();
  if (state.modelName.peek() === 'modal') return setPose(t);
  if (curves?.file) return state.tell('This clip comes from a file, so its keys cannot be edited here', 'error');
  if (!curves) {
    const values = Object.fromEntries(Object.entries(pose).filter(([, v]) => v !== 0).map(([n, v]) => [n, [0, v, 0]]));
    if (!Object.keys(values).length) return state.tell('Move a slider first, then set a key');
    patch([{ op: 'add', path: '/curves', value: { times: [0, 1, 2], values } as never }], 'Make a clip from the pose');
    state.tell('Made a clip of two seconds: rest, this pose, rest. Press Space to play it');
    return;
  }
  const times = curves.times ?? [], values = curves.values ?? {};
  const at = times.findIndex((x) => Math.abs(x - t) < 1e-4);
  const insert = at < 0 ? (times.findIndex((x) => x > t) + times.length + 1) % (times.length + 1) : at;
  const newTimes = at < 0 ? [...times.slice(0, insert), t, ...times.slice(insert)] : times;
  const next: { [name: string]: number[] } = {};
  for (const name of new Set([...Object.keys(values), ...Object.keys(pose).filter((n) => Math.abs(pose[n]) > 1e-6)])) {
    const old = values[name] ?? times.map(() => 0);
    const v = Math.round((pose[name] ?? 0) * 1e4) / 1e4;
    next[name] = at < 0 ? [...old.slice(0, insert), v, ...old.slice(insert)] : old.map((x, i) => (i === at ? v : x));
  }
  patch([{ op: 'replace', path: '/curves', value: { times: newTimes, values: next } as never }], `Key at ${t.toFixed(2)} s`);
  seek(state.playhead.peek());
}

/** The key at the playhead, or -1. */
export function keyHere(): number {
  const { start, rate } = state.clip.value;
  const t = start + state.playhead.value / (rate || 30);
  return keyTimes().findIndex((x) => Math.abs(x - t) < 0.5 / (rate || 30));
}

export function removeKey(at = keyHere()) {
  const keys = poses(), curves = state.scene.peek().curves;
  const times = keyTimes();
  if (at < 0) return state.tell('There is no key here');
  if (times.length < (keys ? 2 : 3)) return state.tell(keys ? 'A clip needs a key' : 'A clip of slider curves needs two keys');
  const label = `Remove key at ${times[at].toFixed(2)} s`;
  if (keys) return patch([{ op: 'remove', path: `/keys/${at}` }], label);
  const values = Object.fromEntries(Object.entries(curves?.values ?? {}).map(([n, v]) => [n, v.filter((_, i) => i !== at)]));
  patch([{ op: 'replace', path: '/curves', value: { times: times.filter((_, i) => i !== at), values } as never }], label);
}

/** Moves a key in time, between its neighbors. */
function moveKey(at: number, wanted: number, gesture: string) {
  const times = keyTimes(), step = 1 / (state.clip.peek().rate || 30);
  const low = at > 0 ? times[at - 1] + step : at === 0 && !poses() ? times[0] : 0;
  const high = at + 1 < times.length ? times[at + 1] - step : Infinity;
  const t = round(Math.max(low, Math.min(high, wanted)));
  if (high < low || Math.abs(t - times[at]) < 1e-6) return;
  const path = poses() ? `/keys/${at}/time` : `/curves/times/${at}`;
  patch([{ op: 'replace', path, value: t }], `Key to ${t.toFixed(2)} s`, { gesture });
}

function Key({ index, time }: { index: number; time: number }) {
  const { start, frames, rate } = state.clip.value;
  const length = (frames - 1) / (rate || 30), share = (time - start) / (length || 1);
  const frame = Math.round((time - start) * rate);
  const onDown = (event: PointerEvent) => {
    const button = event.currentTarget as HTMLElement;
    const width = button.parentElement!.clientWidth, from = event.clientX, gesture = newGesture('key time');
    let isDragged = false;
    button.setPointerCapture(event.pointerId);
    button.onpointermove = (e) => {
      if (!isDragged && Math.abs(e.clientX - from) < 3) return; // a click is no drag
      isDragged = true;
      moveKey(index, time + ((e.clientX - from) / width) * length, gesture);
    };
    button.onpointerup = button.onpointercancel = () => {
      button.onpointermove = null;
      if (!isDragged) seek(frame);
    };
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) moveKey(index, time + step / (rate || 30), newGesture('key time'));
    else if (event.key === 'Delete' || event.key === 'Backspace') removeKey(index);
    else if (event.key === 'Enter') seek(frame);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  if (share < -1e-6 || share > 1 + 1e-6) return null;
  return (
    <button type="button" class={`key ${frame === state.playhead.value ? 'here' : ''}`} style={{ left: `${100 * share}%` }} data-testid={`key-${index}`}
      aria-label={`Key ${index + 1} at ${time.toFixed(2)} s`} title={`Key at ${time.toFixed(2)} s. Click to go there, drag to move it in time, Delete to remove it`}
      onPointerDown={onDown} onKeyDown={onKey} />
  );
}

/** The diamonds under the scrubber. */
export function KeyTrack() {
  const times = keyTimes();
  if (state.clip.value.frames < 2 || !times.length) return null;
  return <div class="keytrack" role="group" aria-label="Keys">{times.map((time, i) => <Key key={i} index={i} time={time} />)}</div>;
}
