// The modes of a modal scene: damping and stiffness as curves over the modes, and how the chosen
// mode moves over the clip. Dragging a point of a curve is a patch; the plots follow at once.
import { effect, signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { Film, play, wantsCalm } from './film';
import { newGesture, patch, send } from './link';
import { drawPlayhead, ticksIn, usePlot } from './plot';
import * as state from './state';
import type { View } from './view';

const CURVES = [
  { key: 'gamma_curve', label: 'Damping γ', low: -1, high: 1, rest: 1, color: '#e8825a', hint: '1: the value of Damping; -1: none' },
  { key: 'kappa_curve', label: 'Stiffness κ', low: -1, high: 0.95, rest: 0, color: '#6aa3dc', hint: '0: the stiffness of the body; above: faster; below: slower' },
] as const;
type Curve = (typeof CURVES)[number];

const chosen = signal(0);

/** Points of a curve as the scene has them, or flat ones to start from: [mode, value] each. */
function pointsOf(curve: Curve, count: number): [number, number][] {
  const given = state.member.parameters.value?.[curve.key] as number[] | undefined;
  if (given?.length) return Array.from({ length: given.length >> 1 }, (_, i) => [given[2 * i], given[2 * i + 1]]);
  return [0, 0.1, 0.3, 0.6, 1].map((share) => [Math.round(share * (count - 1)), curve.rest] as [number, number])
    .filter(([x], i, all) => i === 0 || x > all[i - 1][0]);
}

/** Damping and stiffness over the mode number; points are dragged up and down. */
function CurvesOverModes() {
  const host = usePlot(
    () => {
      const count = state.modes.value?.frequency.length ?? 0;
      if (count < 2) return null;
      const curves = CURVES.map((curve) => pointsOf(curve, count));
      const numbers = [...new Set(curves.flat().map(([x]) => x))].sort((a, b) => a - b);
      const data = [numbers, ...curves.map((points) => numbers.map((n) => points.find(([x]) => x === n)?.[1] ?? null))];
      return {
        key: `${count}`,
        options: {
          padding: [32, null, null, null],
          scales: { x: { range: [0, count - 1] }, y: { range: [-1.1, 1.1] } },
          axes: [{ values: ticksIn() }, { size: 32, space: 16, values: ticksIn() }],
          series: [{}, ...CURVES.map((c) => ({ label: c.label, stroke: c.color, width: 1.75, spanGaps: true, points: { show: true, size: 8 } }))],
        },
        data: data as unknown as uPlot.AlignedData,
      };
    },
    null,
    (plot) => {
      const over = plot.over;
      over.style.cursor = 'ns-resize';
      let drag: { curve: Curve; index: number; gesture: string } | null = null;
      const at = (event: PointerEvent) => {
        const rect = over.getBoundingClientRect();
        return { x: event.clientX - rect.left, y: event.clientY - rect.top };
      };
      over.addEventListener('pointerdown', (event) => {
        const count = state.modes.peek()?.frequency.length ?? 0;
        const { x, y } = at(event);
        let best = 20;
        for (const curve of CURVES)
          pointsOf(curve, count).forEach(([mode, value], index) => {
            const distance = Math.hypot(plot.valToPos(mode, 'x') - x, plot.valToPos(value, 'y') - y);
            if (distance < best) [best, drag] = [distance, { curve, index, gesture: newGesture('mode curve') }];
          });
        if (drag) follow(event.pointerId, move, () => (drag = null));
        else chosen.value = Math.max(0, Math.min(count - 1, Math.round(plot.posToVal(x, 'x'))));
      });
      const move = (event: PointerEvent) => {
        if (!drag) return;
        const { curve, index, gesture } = drag;
        const points = pointsOf(curve, state.modes.peek()?.frequency.length ?? 0);
        const value = Math.round(100 * Math.max(curve.low, Math.min(curve.high, plot.posToVal(at(event).y, 'y')))) / 100;
        points[index][1] = value;
        const ops = [{ op: 'add' as const, path: `/parameters/${curve.key}`, value: points.flat() }];
        if (!state.scene.peek().parameters) ops.unshift({ op: 'add', path: '/parameters', value: {} as never });
        patch(ops, `${curve.label} of mode ${points[index][0] + 1}: ${value}`, { gesture });
      };
    },
  );
  return (
    <figure class="modeplot">
      <figcaption>
        {CURVES.map((c) => (
          <span key={c.key} title={`${c.label} over the mode number: drag a point. ${c.hint}`}><i style={{ background: c.color }} />{c.label}</span>
        ))}
      </figcaption>
      <div class="plot" ref={host} data-testid="mode-curves" role="img" aria-label="Damping and stiffness over the modes; drag a point up or down" />
    </figure>
  );
}

/** The pointer may leave the plot while a point is dragged: the window follows it. */
function follow(pointer: number, move: (event: PointerEvent) => void, end: () => void) {
  const onMove = (event: PointerEvent) => event.pointerId === pointer && move(event);
  const onEnd = (event: PointerEvent) => {
    if (event.pointerId !== pointer) return;
    removeEventListener('pointermove', onMove);
    removeEventListener('pointerup', onEnd);
    removeEventListener('pointercancel', onEnd);
    end();
  };
  addEventListener('pointermove', onMove);
  addEventListener('pointerup', onEnd);
  addEventListener('pointercancel', onEnd);
}

/** z(t) of the chosen mode, with the playhead. */
function Motion() {
  const host = usePlot(
    () => {
      const modes = state.modes.value;
      const mode = chosen.value;
      if (!modes || modes.frames < 2 || mode >= modes.frequency.length) return null;
      const { start, rate } = state.clip.value;
      const times = Array.from({ length: modes.frames }, (_, k) => start + (k * modes.step) / (rate || 30));
      const z = Array.from(modes.z.subarray(mode * modes.frames, (mode + 1) * modes.frames));
      return {
        key: 'z',
        options: {
          padding: [32, null, null, null],
          axes: [{ values: ticksIn('s') }, { size: 56, space: 16, values: ticksIn() }],
          series: [{}, { label: 'z', stroke: '#6fbf8b', width: 1.75 }],
          hooks: { draw: [drawPlayhead] },
        },
        data: [times, z],
      };
    },
    state.playhead,
  );
  const modes = state.modes.value;
  const mode = Math.min(chosen.value, (modes?.frequency.length ?? 1) - 1);
  return (
    <figure class="modeplot">
      <figcaption>
        <label title="z(t): weight of one mode over the clip. The slowest is mode 1">
          <i style={{ background: '#6fbf8b' }} />z(t), mode{' '}
          <input type="number" min={1} max={modes?.frequency.length ?? 1} value={mode + 1} data-testid="mode-number"
            onInput={(event) => (chosen.value = Math.max(0, Number(event.currentTarget.value) - 1 || 0))} />
        </label>
        {modes && <span title="Frequency and damping ratio of the mode">{modes.frequency[mode].toFixed(2)} Hz · ζ {modes.damping[mode].toFixed(2)}</span>}
      </figcaption>
      <div class="plot" ref={host} data-testid="mode-motion" role="img" aria-label={`Motion of mode ${mode + 1} over the clip`} />
    </figure>
  );
}

const PHASES = 9; // from one end of a swing to the other

/** One mode, swinging. */
function ModePicture({ index, shape, view }: { index: number; shape: Float32Array; view: View }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [over, setOver] = useState(false);
  const isChosen = chosen.value === index;
  const isStill = wantsCalm() && !over;
  useEffect(() => {
    const film = new Film(PHASES, 112, 112, (to, k) => view.thumbnail(to, shape, 1 - (2 * k) / (PHASES - 1)));
    return play((seconds) => film.show(isStill ? 0 : Math.round((0.5 - 0.5 * Math.cos(seconds * (over ? 6 : 3))) * (PHASES - 1)), canvas.current!));
  }, [shape, isStill, over, view]);
  const frequency = state.modes.value?.frequency[index];
  const label = `Mode ${index + 1}${frequency === undefined ? '' : `, ${frequency.toFixed(2)} Hz`}`;
  return (
    <button type="button" class="modetile" aria-pressed={isChosen} title={`${label}: click to plot its motion`} aria-label={label} data-testid={`mode-${index + 1}`}
      onPointerEnter={() => setOver(true)} onPointerLeave={() => setOver(false)} onFocus={() => setOver(true)} onBlur={() => setOver(false)}
      onClick={() => (chosen.value = index)}>
      <canvas ref={canvas} width={112} height={112} />
      <small>{index + 1}</small>
    </button>
  );
}

/** Asks for the shapes once per body: what changes only the motion leaves them. */
function ModePictures({ view }: { view: View | null }) {
  useEffect(() => {
    let last = '';
    return effect(() => {
      const built = state.modes.value, given = state.member.parameters.value ?? {};
      const rebuilds = state.model.value?.parameters.filter((p) => p.cost === 'structure' || p.cost === 'rig') ?? [];
      const key = JSON.stringify([rebuilds.map((p) => given[p.name] ?? null), state.rig.value?.vertices, built?.frequency.length]);
      if (!built || key === last) return;
      last = key;
      send({ type: 'mode_shapes' });
    });
  }, []);
  if (!view || !state.modeShapes.value.length) return null;
  return (
    <div class="modetiles" role="group" aria-label="Modes">
      {state.modeShapes.value.map((shape, i) => <ModePicture key={i} index={i} shape={shape} view={view} />)}
    </div>
  );
}

/** Asks for the motion of each shape that arrives, one question at a time: the plot follows a curve while it is dragged. */
function useModes() {
  useEffect(() => {
    const stop = effect(() => {
      const { revision, waiting } = state.modesAsked.value;
      const shown = state.modelName.value === 'modal' ? state.shape.value : null;
      if (!shown || shown.building || waiting || shown.revision <= revision) return;
      state.modesAsked.value = { revision: shown.revision, waiting: true };
      send({ type: 'modes' });
    });
    return () => {
      stop();
      state.modesAsked.value = { revision: -1, waiting: false };
    };
  }, []);
}

export function Modes({ view }: { view: View | null }) {
  useModes();
  return (
    <div class="curves modes" data-testid="modes">
      <ModePictures view={view} />
      <CurvesOverModes />
      <Motion />
      {!state.modes.value && <p class="hint">Modes appear when the model is built.</p>}
    </div>
  );
}
