// The capture bench: markers of a take, those in doubt, and error curves of the solves side by side.
import { effect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Crosshair, Layers2, LineChart, PanelLeft, Trash2 } from 'lucide-preact';
import { IconButton } from './controls';
import { seek, send } from './link';
import { drawPlayhead, ticksIn, usePlot } from './plot';
import * as state from './state';

const PALETTE = ['#e8825a', '#6aa3dc', '#6fbf8b', '#e3b34c', '#b58ad6', '#5cc1c1'];

/** The four ways to solve a take that people compare. */
const WAYS: { name: string; model: string; parameters: { [name: string]: string | boolean }; hint: string }[] = [
  { name: 'SBS', model: 'fit', parameters: { method: 'sbs' }, hint: 'linear blendshapes' },
  { name: 'RSBS', model: 'fit', parameters: { method: 'rsbs' }, hint: 'blendshapes that rotate' },
  { name: 'RSBS + layer', model: 'fit', parameters: { method: 'rsbs', layer: true }, hint: 'and a thin layer that reaches the markers' },
  { name: 'Blendforces', model: 'force', parameters: {}, hint: 'forces instead of positions' },
];

function solve(requests: object[], names: string[]) {
  state.solving.value = [...state.solving.value, ...names];
  for (const request of requests) send({ type: 'errors', ...request });
}

/** Two solves of one take, one camera: the overlay shows where they differ. */
function showBeside(solve: state.Solve | null) {
  state.beside.value = solve;
  if (solve) state.compare.value = 'side';
  if (solve && !state.showsClip.value) seek(state.playhead.value);
}

function forget(solve: state.Solve) {
  if (state.beside.value === solve) state.beside.value = null;
  state.solves.value = state.solves.value.filter((s) => s !== solve);
}

function Errors() {
  const host = usePlot(() => {
    const solves = state.solves.value;
    const { frames, start, rate } = state.clip.value, unit = state.lengthUnit.value;
    if (!solves.length || frames < 2) return null;
    const times = Array.from({ length: frames }, (_, k) => start + k / (rate || 30));
    return {
      key: solves.map((solve) => solve.name).join(),
      options: {
        axes: [{ values: ticksIn('s') }, { size: 64, space: 16, values: ticksIn(unit.name) }],
        series: [{}, ...solves.map((solve, i) => ({ label: solve.name, stroke: PALETTE[i % PALETTE.length], width: 1.5 }))],
        hooks: { draw: [drawPlayhead] },
      },
      data: [times, ...solves.map((solve) => times.map((_, k) => unit.scale * (solve.errors[k] ?? NaN)))],
    };
  }, state.playhead);
  return <div class="plot" ref={host} data-testid="error-plot" role="img" aria-label="Mean distance of markers from the face over the clip" />;
}

/** Asks for the markers once per built take. */
function useTake() {
  useEffect(() => {
    let last = '';
    return effect(() => {
      const markers = state.member.markers.value;
      const isBuilt = !!state.shape.value && state.shape.value.revision >= state.revision.value && ['fit', 'force'].includes(state.modelName.value);
      const key = JSON.stringify([markers, state.member.parameters.value, state.rig.value?.vertices, state.clip.value]);
      if (!markers || !isBuilt || key === last) return;
      last = key;
      send({ type: 'take' });
    });
  }, []);
}

const mean = (values: Float32Array) => values.reduce((sum, x) => sum + (Number.isFinite(x) ? x : 0), 0) / Math.max(1, values.length);

export function CaptureBench() {
  useTake();
  const take = state.take.value;
  const doubtful = take?.names.map((name, i) => ({ name, i, why: take.doubts[i] })).filter((m) => m.why) ?? [];
  const chosen = state.selectedMarker.value, isBusy = state.solving.value.length > 0;
  return (
    <div class="curves bench" data-testid="bench">
      <div class={`benchside ${doubtful.length || state.solves.value.length ? '' : 'bare'}`}>
        <p class="note">
          {take ? `${take.names.length} markers${doubtful.length ? `, ${doubtful.length} in doubt` : ''}.` : 'The markers appear when the take is solved.'}{' '}
          {chosen >= 0 && take ? <b data-testid="chosen-marker">Click the face to move {take.names[chosen]}.</b> : state.tool.value === 'map' && 'Click a marker, then where it belongs on the face.'}
        </p>
        <div class="buttons">
          <button type="button" class="button" data-testid="four-ways" disabled={!take || isBusy} title={`Solve the whole clip by ${WAYS.map((w) => `${w.name} (${w.hint})`).join(', ')}, and compare`}
            onClick={() => solve(WAYS.map(({ name, model, parameters }) => ({ name, model, parameters })), WAYS.map((w) => w.name))}><Layers2 size={14} /> Four ways</button>
          <button type="button" class="button" data-testid="errors" disabled={!take || isBusy} title="Solve the whole clip with the model and parameters on the right, and plot the distance of the markers from the face"
            onClick={() => solve([{ name: state.modelLabel.value }], [state.modelLabel.value])}><LineChart size={14} /> Error curve</button>
          <button type="button" class={`button ${state.tool.value === 'map' ? 'accent' : ''}`} data-testid="tool-map" title="Correct the positions of markers on the face (M)" onClick={() => (state.tool.value = state.tool.value === 'map' ? 'orbit' : 'map')}>
            <Crosshair size={14} /> Place markers
          </button>
        </div>
        <ul class="solves" aria-label="Solves">
          {state.solves.value.map((solve, i) => (
            <li key={solve.name}>
              <i style={{ background: PALETTE[i % PALETTE.length] }} />{solve.name}
              <span title="Mean over the clip">{state.lengthText(mean(solve.errors))}</span>
              <IconButton label={`Show ${solve.name} in the left view`} pressed={state.beside.value === solve} disabled={!solve.positions.length} testid={`beside-${i}`} onClick={() => showBeside(state.beside.value === solve ? null : solve)}><PanelLeft size={12} /></IconButton>
              <IconButton label={`Remove the curve of ${solve.name}`} onClick={() => forget(solve)}><Trash2 size={12} /></IconButton>
            </li>
          ))}
          {doubtful.slice(0, 12).map(({ name, i, why }) => (
            <li key={name}>
              <button type="button" class="link" title={why!} onClick={() => {
                state.tool.value = 'map';
                state.selectedMarker.value = i;
              }}>{name}: {why}</button>
            </li>
          ))}
        </ul>
      </div>
      <div class="benchplot">
        <Errors />
        {!state.solves.value.length && (
          <p class="hint"><span>{isBusy
            ? `Solving the take by ${state.solving.value.join(', ')}…`
            : <>Press <b>Four ways</b> to solve the take by {WAYS.map((w) => w.name).join(', ')} and compare their errors; <b>Error curve</b> adds the solve on the screen. Each solve in the list can be shown in the left view.</>}</span></p>
        )}
      </div>
    </div>
  );
}
