// The bottom panel: play, scrub, slider curves and keys.
import { effect } from '@preact/signals';
import { ChevronFirst, ChevronLast, Diamond, Film, Pause, Play, Repeat, Trash2 } from 'lucide-preact';
import { useEffect } from 'preact/hooks';
import type uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { IconButton } from './controls';
import { newGesture, open, patch, play, seek, send } from './link';
import { CaptureBench } from './capture';
import { keyHere, KeyTrack, MOST_KEYS, removeKey, setKey } from './keys';
import { Modes } from './modes';
import { drawPlayhead, ticksIn, usePlot } from './plot';
import { escapeKey } from './patch';
import * as state from './state';
import type { View } from './view';

const PALETTE = ['#e8825a', '#6aa3dc', '#6fbf8b', '#e3b34c', '#b58ad6', '#5cc1c1', '#d76f8c', '#9aa4b1'];

export const secondsOf = (frame: number) => state.clip.value.start + frame / (state.clip.value.rate || 30);
const frameOf = (seconds: number) =>
  Math.max(0, Math.min(state.clip.value.frames - 1, Math.round((seconds - state.clip.value.start) * state.clip.value.rate)));

interface Plotted {
  times: number[];
  values: { [name: string]: ArrayLike<number> };
}

/** Curves of the scene, or those that the server made of a file. */
function plotted(): Plotted | null {
  const curves = state.member.curves.value, trace = state.trace.value;
  if (curves?.times) return { times: curves.times, values: curves.values ?? {} };
  if (!curves?.file || !trace) return null;
  const times = Array.from({ length: trace.frames }, (_, k) => secondsOf(k * trace.step));
  return { times, values: Object.fromEntries(trace.names.map((name, i) => [name, trace.values.subarray(i * trace.frames, (i + 1) * trace.frames)])) };
}

/** Sliders whose curves are shown: the selected ones, else those that move most. */
function shownSliders(from: Plotted | null): string[] {
  const values = from?.values ?? {};
  const chosen = state.selectedSliders.value.filter((name) => values[name]);
  if (chosen.length) return chosen;
  const range = (list: ArrayLike<number>) => {
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < list.length; i++) [low, high] = [Math.min(low, list[i]), Math.max(high, list[i])];
    return high - low;
  };
  return Object.keys(values)
    .map((name) => ({ name, range: range(values[name]) }))
    .sort((a, b) => b.range - a.range)
    .slice(0, 5)
    .map((entry) => entry.name);
}

/** Asks for the curves of a clip that comes from a file, once it is read. */
function useTrace() {
  useEffect(() => {
    let last = '';
    return effect(() => {
      const file = state.member.curves.value?.file;
      const shown = state.shape.value;
      const key = `${file} ${state.clip.value.frames} ${state.rig.value?.vertices}`;
      if (!file || state.clip.value.frames < 2 || !shown || shown.building || shown.revision < state.revision.value || key === last) return;
      last = key;
      send({ type: 'curves' });
    });
  }, []);
}

/** Scrubs, and drags keys up and down. */
function editCurves(plot: uPlot) {
  const { over } = plot;
  over.style.cursor = 'ew-resize';
  let drag: { name: string; index: number; gesture: string } | null = null, isScrubbing = false;
  const at = (event: PointerEvent) => {
    const rect = over.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };
  const near = (event: PointerEvent) => {
    const { times, values } = state.scene.peek().curves ?? {};
    if (!times || !values || times.length > MOST_KEYS) return null;
    const { x, y } = at(event);
    let best: { name: string; index: number } | null = null, distance = 9;
    for (const { label: name } of plot.series.slice(1) as { label: string }[])
      times.forEach((t, index) => {
        const d = Math.hypot(plot.valToPos(t, 'x') - x, plot.valToPos(values[name]?.[index] ?? NaN, 'y') - y);
        if (d < distance) [distance, best] = [d, { name, index }];
      });
    return best as { name: string; index: number } | null;
  };
  const scrub = (event: PointerEvent) => {
    const frame = frameOf(plot.posToVal(at(event).x, 'x'));
    if (frame !== state.playhead.peek() || state.time.peek().frame < 0) seek(frame);
  };
  over.addEventListener('pointerdown', (event) => {
    over.setPointerCapture(event.pointerId);
    const key = near(event);
    if (key) drag = { ...key, gesture: newGesture('key') };
    else {
      isScrubbing = true;
      scrub(event);
    }
  });
  over.addEventListener('pointermove', (event) => {
    if (isScrubbing) return scrub(event);
    over.style.cursor = drag || near(event) ? 'ns-resize' : 'ew-resize';
    if (!drag) return;
    const value = Math.round(Math.max(-1, Math.min(2, plot.posToVal(at(event).y, 'y'))) * 100) / 100;
    patch([{ op: 'replace', path: `/curves/values/${escapeKey(drag.name)}/${drag.index}`, value }], `${drag.name} key ${value}`, { gesture: drag.gesture });
  });
  const end = () => {
    drag = null;
    isScrubbing = false;
  };
  over.addEventListener('pointerup', end);
  over.addEventListener('pointercancel', end);
}

/** Of curves that are the same, such as those of a symmetric pair, the later ones are dashed. */
const isCopy = (values: ArrayLike<number>[], i: number) =>
  values.slice(0, i).some((other) => other.length === values[i].length && Array.prototype.every.call(other, (x: number, k: number) => x === values[i][k]));

function Curves() {
  useTrace();
  const host = usePlot(
    () => {
      const from = plotted(), names = shownSliders(from);
      if (!from || !names.length) return null;
      const values = names.map((name) => from.values[name]);
      const few = from.times.length <= MOST_KEYS && !!state.member.curves.value?.times;
      const copies = values.map((_, i) => isCopy(values, i));
      return {
        key: JSON.stringify([names, copies, few]),
        options: {
          cursor: { drag: { x: false, y: false }, points: { show: few }, y: false },
          padding: [24, null, null, null],
          scales: { y: { range: (_u, low, high) => [Math.min(0, low) - 0.05, Math.max(1, high) + 0.05] } },
          axes: [{ values: ticksIn('s') }, { size: 32, values: ticksIn() }],
          series: [{}, ...names.map((name, i) => ({ label: name, stroke: PALETTE[i % PALETTE.length], width: 1.75, dash: copies[i] ? [8, 8] : undefined, points: { show: few, size: 7 } }))],
          hooks: { draw: [drawPlayhead] },
        },
        data: [from.times, ...values] as uPlot.AlignedData,
      };
    },
    state.playhead,
    editCurves,
  );
  const from = plotted(), names = shownSliders(from);
  return (
    <div class="curves">
      <ul class="legend" aria-label="Curves">
        {names.map((name, i) => (
          <li key={name}><i style={{ background: PALETTE[i % PALETTE.length] }} />{name}</li>
        ))}
      </ul>
      <div class="plot" ref={host} data-testid="plot" role="img" aria-label="Slider curves over time" />
      {!from && <Nothing />}
    </div>
  );
}

function Nothing() {
  const sample = state.member.rig.value?.sample;
  const keys = state.member.keys.value, markers = state.member.markers.value, curves = state.member.curves.value;
  if (curves?.file || markers) return <p class="hint">Reading {(curves?.file ?? markers?.file)?.split('/').pop()}…</p>;
  if (keys) return <p class="hint">{keys.length} key poses drive this clip; choose the model Modal to edit them.</p>;
  return (
    <p class="hint"><span>
      Press <kbd>K</kbd> to make a clip from this pose, {!sample && 'or '}drop a CSV of slider curves
      {sample && <>, or <button type="button" class="link strong underline" title="Open the clip that comes with this rig" data-testid="sample-clip" onClick={() => open({ sample })}>use the sample clip</button></>}.
    </span></p>
  );
}

function Scrubber() {
  const { frames } = state.clip.value;
  if (frames < 2) return null;
  return (
    <div class="scrubber" style={{ '--share': `${(100 * state.playhead.value) / (frames - 1)}%` }}>
      <input type="range" min={0} max={frames - 1} value={state.playhead.value} aria-label="Frame" title={`Frame 0 to ${frames - 1}: drag to scrub`} data-testid="scrubber"
        onInput={(event) => seek(Number(event.currentTarget.value))} />
      <KeyTrack />
    </div>
  );
}

function Bar() {
  const { frames, rate } = state.clip.value;
  const { playing, loop, frame } = state.time.value;
  const has = frames > 1, showsClip = has && frame >= 0;
  const t = secondsOf(state.playhead.value);
  const clock = `${Math.floor(t / 60)}:${(t % 60).toFixed(2).padStart(5, '0')}`;
  return (
    <div class="bar">
      <IconButton label="First frame (Home)" disabled={!has} onClick={() => seek(0)}><ChevronFirst size={16} /></IconButton>
      <IconButton class="primary" label={playing ? 'Pause (Space)' : 'Play (Space)'} disabled={!has} onClick={() => play(!playing)} testid="play">
        {playing ? <Pause size={16} /> : <Play size={16} />}
      </IconButton>
      <IconButton label="Last frame (End)" disabled={!has} onClick={() => seek(frames - 1)}><ChevronLast size={16} /></IconButton>
      <IconButton label="Loop" pressed={loop} disabled={!has} onClick={() => {
        state.time.value = { ...state.time.value, loop: !loop };
        if (playing) send({ type: 'play', on: true, loop: !loop });
      }}><Repeat size={15} /></IconButton>
      {has && <output class="clock">{clock}</output>}
      <span class="dim">{has ? `${Math.round(rate * 100) / 100} fps · frame ${state.playhead.value} / ${frames - 1}` : 'No clip'}</span>
      <span class="grow" />
      <button type="button" class={`mode ${showsClip ? 'clip' : ''}`} disabled={!has} title="Switch between the clip and the pose of the sliders" onClick={() => seek(showsClip ? -1 : state.playhead.value)}>
        <Film size={13} /> {showsClip ? 'clip' : 'pose'}
      </button>
      <IconButton label="Set a key of this pose at the playhead (K)" onClick={setKey} testid="key"><Diamond size={15} /></IconButton>
      <IconButton label="Remove the key at the playhead" disabled={keyHere() < 0} onClick={() => removeKey()} testid="remove-key"><Trash2 size={15} /></IconButton>
    </div>
  );
}

const LEAST_HEIGHT = 128, REST_HEIGHT = 208, STEP = 16;

/** The upper edge of the timeline: drag it to make room, double-click it to reset. */
function Splitter() {
  const set = (height: number | null) => (state.timeHeight.value = height && Math.round(Math.max(LEAST_HEIGHT, Math.min(innerHeight * 0.6, height))));
  const heightOf = (event: { currentTarget: EventTarget }) => (event.currentTarget as HTMLElement).parentElement!.clientHeight;
  return (
    <div class="splitter" role="separator" aria-orientation="horizontal" aria-label="Height of the timeline" tabIndex={0} data-testid="splitter"
      aria-valuemin={LEAST_HEIGHT} aria-valuemax={Math.round(innerHeight * 0.6)} aria-valuenow={state.timeHeight.value ?? REST_HEIGHT}
      title="Drag to change the height of the timeline; double-click to reset"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => event.buttons & 1 && set(innerHeight - event.clientY)}
      onDblClick={() => set(null)}
      onKeyDown={(event) => {
        const by = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
        if (!by) return;
        event.preventDefault();
        event.stopPropagation();
        set(heightOf(event) + by);
      }} />
  );
}

export function Timeline({ view }: { view: View | null }) {
  const panel = state.modelName.value === 'modal' ? <Modes view={view} /> : state.member.markers.value ? <CaptureBench /> : <Curves />;
  return (
    <footer class={`time ${panel.type === Curves ? 'ofCurves' : ''} ${state.hasClip.value ? '' : 'still'}`} aria-label="Timeline">
      {state.hasClip.value && <Splitter />}
      <Bar />
      <Scrubber />
      {panel}
    </footer>
  );
}
