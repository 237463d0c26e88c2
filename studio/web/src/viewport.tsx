// The middle of the page: the views, and what floats over them.
import { signal } from '@preact/signals';
import { Maximize, Pointer, TriangleAlert, Undo2, Unplug, X } from 'lucide-preact';
import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Choices, IconButton } from './controls';
import { HEAT_STOPS } from './heat';
import { cancel, open, setMembers, undo } from './link';
import * as state from './state';
import { Toasts } from './toasts';
import { chooseTool, TOOLS } from './tools';
import type { View } from './view';

/** Fetched and run in a task of its own, while the panels are drawn. */
const viewModule = import('./view');
export const view = signal<View | null>(null);

function Figures() {
  const shape = state.shape.value;
  if (!shape || shape.building || state.problem.value) return null;
  const parts = [`${shape.ms < 10 ? shape.ms.toFixed(1) : Math.round(shape.ms)} ms`];
  if (shape.iterations) parts.push(`${shape.iterations} step${shape.iterations > 1 ? 's' : ''}`);
  if (shape.residual) parts.push(`residual ${shape.residual.toExponential(0)}`);
  if (shape.contacts) parts.push(`${shape.contacts} contact${shape.contacts > 1 ? 's' : ''}`);
  parts.push(`${shape.inverted} inverted`);
  const latency = state.latency.value;
  return (
    <div class={`stat ${shape.converged ? '' : 'warn'}`} data-testid="figures" title={latency ? `Latency from slider to picture: median ${latency.p50.toFixed(0)} ms, 95% below ${latency.p95.toFixed(0)} ms` : 'Figures of the last solve'}>
      <i class={`light ${shape.converged ? 'ok' : 'warn'}`} />
      {!shape.converged && <b data-testid="not-converged">not converged</b>}
      {parts.map((part) => <span key={part}>{part}</span>)}
    </div>
  );
}

/** What keeps the scene from being shown, and the way back. */
function Problem() {
  const { undo: past } = state.history.value;
  if (!state.problem.value) return null;
  return (
    <div class="problem" role="alert" data-testid="problem">
      <TriangleAlert size={16} aria-hidden="true" />
      <p>{state.problem.value}</p>
      {past.length > 0 && <button type="button" class="button" title={`Go back to before “${past[0]}” (Ctrl+Z)`} data-testid="problem-undo" onClick={undo}><Undo2 size={14} aria-hidden="true" /> Undo</button>}
    </div>
  );
}

function Lost() {
  if (state.connection.value !== 'lost') return null;
  return (
    <div class="lost" role="status" data-testid="lost">
      <Unplug size={16} aria-hidden="true" />
      <p><b>The server does not answer.</b> If it was stopped, start the same command again: the scene and its history are kept.</p>
    </div>
  );
}

function Legend() {
  const mode = state.overlay.value, rig = state.rig.value;
  if (mode === 'none' || !rig) return null;
  // Faint where the surface shows through, as in the view.
  const stops = HEAT_STOPS.map((s, i) => `rgb(${s.map((x) => Math.round(255 * x)).join(' ')} / ${i ? 1 : 0.1})`).join(',');
  const range = state.heatRange.value, isFlat = mode !== 'stretch' && state.isTiny(range);
  const most = isFlat ? 'none' : mode === 'stretch' ? `${Math.round(range * 100)} %` : state.lengthText(range);
  const name = { difference: `distance from ${state.leftInText.value}`, stretch: 'change of edge length', motion: 'motion from rest' }[mode];
  return (
    <div class="legendbar" role="img" aria-label={isFlat ? `Heat map: ${name}, none` : `Heat map: ${name}, 0 to ${most}`}>
      <span>{name}</span>
      <i style={{ background: `linear-gradient(to right, ${stops})` }} />
      <div><small>{isFlat ? '' : '0'}</small><small>{most}</small></div>
    </div>
  );
}

function Progress() {
  const progress = state.progress.value;
  if (!progress) return null;
  const stage = progress.stage.replace(/^./, (c) => c.toUpperCase());
  const what = state.shape.value?.building ? `Building ${state.modelLabel.value}: ${progress.stage}` : stage;
  return (
    <div class="progress" role="status">
      <span>{what}</span>
      <progress value={progress.fraction} max={1} aria-label={what} />
      <output>{Math.round(100 * progress.fraction)} %</output>
      <IconButton label="Cancel (Esc)" onClick={cancel} testid="cancel"><X size={14} /></IconButton>
    </div>
  );
}

/** What the right view shows, and how far it is from the left one. */
function RightTag() {
  const shape = state.shape.value;
  const name = state.modelLabel.value;
  const ghost = state.compare.value === 'ghost' ? ' · linear as a ghost' : '';
  if (shape?.building) return <span class="tag rightTag" data-testid="building">{name} · building, linear until then</span>;
  const isPose = state.modelName.value === 'modal' && shape && shape.frame < 0;
  const differs = !state.problem.value && !state.isTiny(state.apart.value);
  return (
    <span class="tag rightTag" data-testid="right-tag">
      {name}{ghost}{isPose ? ' · pose, K sets it as a key' : differs ? <small> · up to {state.lengthText(state.apart.value)} from {state.leftInText.value}</small> : ''}
    </span>
  );
}

/** What a newcomer should see first. */
const FIRST_EXAMPLES = [['bend', 'a bend that does not shrink'], ['lips', 'lips that press']];

function Coach() {
  const which = state.coach.value;
  if (!which) return null;
  return (
    <div class="coach" role="note">
      <Pointer size={16} aria-hidden="true" />
      {which === 'example' ? <span>{state.example.value!.hint}</span> : (
        <span>
          Drag a slider, pull a cheek (<kbd>P</kbd>) or drop a GLB. Colors show where physics differs. Or see{' '}
          {FIRST_EXAMPLES.map(([name, text]) => <Fragment key={name}><button type="button" class="link strong underline" title="Open this example; undo brings back what was there" data-testid={`try-${name}`} onClick={() => open({ example: name })}>{text}</button>, </Fragment>)}
          <button type="button" class="link strong underline" title="Open the start screen" data-testid="examples" onClick={() => (state.dialog.value = 'start')}>all six examples</button>.
        </span>
      )}
      <IconButton label="Hide this hint" testid="hide-hint" onClick={() => setMembers('studio', { hint: false }, 'Hide the hint')}><X size={14} /></IconButton>
    </div>
  );
}

function Warnings() {
  if (!state.warnings.value.length) return null;
  return (
    <div class="warnings" role="status">
      <ul>{state.warnings.value.slice(-2).map((text) => <li key={text}>{text}</li>)}</ul>
      <IconButton label="Hide the warnings" onClick={() => (state.warnings.value = [])}><X size={12} /></IconButton>
    </div>
  );
}

export function Viewport() {
  const host = useRef<HTMLDivElement>(null), right = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void viewModule.then(({ View }) => (view.value = new View(host.current!, right.current!)));
  }, []);
  const side = state.compare.value === 'side';
  return (
    <main class={`view ${side ? 'split' : ''}`} aria-label="View">
      <div class="stage" ref={host} data-testid="stage">
        <div class="half" style={{ display: side ? '' : 'none' }} />
        <div class="half" ref={right} data-testid="physical" />
      </div>
      {side && <span class="tag leftTag">{state.leftName.value}</span>}
      <RightTag />
      {!state.rig.value && !state.problem.value && <div class="loading" role="status">{state.connection.value === 'open' ? 'Loading the rig…' : 'Connecting…'}</div>}
      <Coach />
      <Legend />
      <div class="tools">
        <Choices label="Tool" value={state.tool.value} onChange={chooseTool}
          options={TOOLS.map(({ value, label, hint, icon: Icon }) => ({ value, hint, label: <><Icon size={16} aria-hidden="true" /> {label}</> }))} />
        <IconButton label="Frame the shape (F)" onClick={() => view.value?.frame()}><Maximize size={16} /></IconButton>
      </div>
      <Figures />
      <Progress />
      <Warnings />
      <Problem />
      <Lost />
      <Toasts />
    </main>
  );
}
