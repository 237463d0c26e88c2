import { effect, signal } from '@preact/signals';
import { Fragment, render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Anchor, CircleHelp, Columns2, Download, Grab, Ghost, Lock, Maximize, Moon, Pointer, Redo2, Rotate3d, SlidersHorizontal, Square, Sun, Undo2, X } from 'lucide-preact';
import { IconButton, Segmented } from './controls';
import { Dialogs } from './dialogs';
import { MOST_KEYS, setKey } from './keys';
import { cancel, clearLatency, connect, open, patch, play, redo, seek, send, sendFiles, setWeights, undo, unanswered } from './link';
import type { Operation } from './patch';
import { HEAT_STOPS } from './heat';
import { Side } from './side';
import { Sliders } from './sliders';
import * as state from './state';
import './style.css';
import { Timeline } from './timeline';
import type { View } from './view';

/** Fetched and run in a task of its own, while the panels are drawn. */
const viewModule = import('./view');
const view = signal<View | null>(null);
const dropping = signal(false);

function remember(name: string, value: string | null) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // private windows have no storage
  }
}

effect(() => {
  document.documentElement.dataset.theme = state.theme.value;
  remember('sinew-theme', state.theme.value);
});

effect(() => {
  const height = state.timeHeight.value;
  if (height) document.documentElement.style.setProperty('--time-height', `${height}px`);
  else document.documentElement.style.removeProperty('--time-height');
  remember('sinew-timeline', height === null ? null : String(height));
});

// ---- header ------------------------------------------------------------------------------------

/** Modes need poses to swing between: the keys of the clip, or from rest to the pose on the screen. */
function firstPoses(): { time: number; weights: { [name: string]: number } }[] {
  const { times, values } = state.scene.value.curves ?? {};
  const nonzero = (weights: [string, number][]) => Object.fromEntries(weights.filter(([, w]) => Math.abs(w) > 1e-4));
  if (times && values && times.length > 1 && times.length <= MOST_KEYS)
    return times.map((time, k) => ({ time, weights: nonzero(Object.entries(values).map(([slider, list]) => [slider, list[k]])) }));
  const pose = nonzero(Object.entries(state.weights.value)), first = state.rig.value?.sliders[0]?.name;
  if (!Object.keys(pose).length && first) pose[first] = 1;
  return [{ time: 0, weights: {} }, { time: 0.5, weights: pose }];
}

function chooseModel(name: string) {
  const ops: Operation[] = [{ op: 'add', path: '/model', value: name }];
  // Parameters belong to a model: another one would refuse them.
  if (state.member.parameters.value) ops.unshift({ op: 'remove', path: '/parameters' });
  // With the default, which is for clips, a hand on the cheek would carry the whole head along.
  if (name === 'spring') ops.push({ op: 'add', path: '/parameters', value: { pull_to_blend: 0.03 } });
  const { keys, time } = state.scene.value;
  if (name === 'modal' && !keys) {
    const poses = firstPoses();
    ops.push({ op: 'add', path: '/keys', value: poses as never });
    if (!time) ops.push({ op: 'add', path: '/time', value: { from: 0, to: poses[poses.length - 1].time + 2 } });
    state.tell(poses.length > 2 ? 'Modal swings between the keys of the clip. Press play.' : 'Modal swings between key poses: from rest to this pose, then freely. Press play.');
  }
  if (name === 'fit' && !state.member.markers.value) state.tell('Fit follows captured markers: drop a take (C3D, TRC, CSV)');
  patch(ops, `Model ${name}`);
  if (name === 'modal') seek(0);
}

const title = (name: string) => name.replace(/^./, (c) => c.toUpperCase());
const COMPARE: { value: state.Compare; label: string; icon: typeof Columns2 }[] = [
  { value: 'side', label: 'Side by side', icon: Columns2 },
  { value: 'ghost', label: 'Linear as a ghost', icon: Ghost },
  { value: 'single', label: 'Physical only', icon: Square },
];

function Header() {
  const hello = state.hello.value;
  const rigName = state.member.rig.value?.sample ?? state.member.rig.value?.files?.[0]?.split('/').pop() ?? 'rig';
  return (
    <header class="top">
      <strong class="brand">Sinew</strong>
      <button type="button" class="button" title="Open an example, a sample or a file" data-testid="open" onClick={() => (state.dialog.value = 'start')}>
        {rigName} ▾
      </button>
      {hello && (
        <Segmented
          label="Model"
          value={state.modelName.value}
          options={hello.models.map((m, i) => ({ value: m.name, label: title(m.name), hint: `${m.summary} (${i + 1})` }))}
          onChange={chooseModel}
        />
      )}
      <span class="grow" />
      {state.connection.value === 'lost' && <span class="badge warn" role="status">Reconnecting…</span>}
      <IconButton label={`Undo ${state.history.value.undo[0] ?? ''} (Ctrl+Z)`} disabled={!state.history.value.undo.length} onClick={undo} testid="undo"><Undo2 size={16} /></IconButton>
      <IconButton label={`Redo ${state.history.value.redo[0] ?? ''} (Ctrl+Shift+Z)`} disabled={!state.history.value.redo.length} onClick={redo} testid="redo"><Redo2 size={16} /></IconButton>
      <span class="divider" />
      {COMPARE.map(({ value, label, icon: Icon }) => (
        <IconButton key={value} label={`${label} (C)`} pressed={state.compare.value === value} onClick={() => (state.compare.value = value)} testid={`compare-${value}`}><Icon size={16} /></IconButton>
      ))}
      <span class="divider" />
      <IconButton label="Switch between light and dark (T)" onClick={() => (state.theme.value = state.theme.value === 'dark' ? 'light' : 'dark')}>
        {state.theme.value === 'dark' ? <Sun size={16} /> : <Moon size={16} />}
      </IconButton>
      <IconButton label="Keyboard and mouse (?)" onClick={() => (state.dialog.value = 'help')}><CircleHelp size={16} /></IconButton>
      <button type="button" class="button accent" title="Export the clip, the pose or the scene" data-testid="export" onClick={() => (state.dialog.value = 'export')}><Download size={14} /> Export</button>
    </header>
  );
}

// ---- viewport ----------------------------------------------------------------------------------

const TOOLS: { value: state.Tool; label: string; hint: string; icon: typeof Grab }[] = [
  { value: 'orbit', label: 'Orbit', hint: 'Rotate the view (O)', icon: Rotate3d },
  { value: 'pull', label: 'Pull', hint: 'Pull a point; it springs back when you let go (P)', icon: Grab },
  { value: 'pose', label: 'Pose', hint: 'Drag a point and let the sliders follow (S)', icon: SlidersHorizontal },
  { value: 'pin', label: 'Pin', hint: 'Pull a point and keep it there (N)', icon: Anchor },
  { value: 'lock', label: 'Lock', hint: 'Paint vertices that stay still while sliders move; hold Alt to erase (L)', icon: Lock },
];

function chooseTool(tool: state.Tool) {
  state.tool.value = tool;
  const follows = ['linear', 'rotation'].includes(state.modelName.value);
  if ((tool === 'pull' || tool === 'pin') && follows)
    state.tell(`The ${state.modelName.value} model does not respond to pulling; use Pose, or choose Spring`);
}

function Figures() {
  const shape = state.shape.value;
  const problem = state.problem.value;
  if (problem) return <div class="stat bad" role="status" data-testid="problem"><i class="light bad" /> {problem}</div>;
  if (!shape || shape.building) return null;
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

function Legend() {
  const mode = state.overlay.value;
  if (mode === 'none') return null;
  // Faint where the surface shows through, as in the view.
  const stops = HEAT_STOPS.map((s, i) => `rgb(${s.map((x) => Math.round(255 * x)).join(' ')} / ${i ? 1 : 0.1})`).join(',');
  const range = state.heatRange.value;
  const label = mode === 'stretch' ? `${Math.round(range * 100)} %` : state.lengthText(range);
  const name = { difference: `distance from ${state.leftInText.value}`, stretch: 'change of edge length', motion: 'motion from rest' }[mode];
  return (
    <div class="legendbar" role="img" aria-label={`Heat map: ${name}, 0 to ${label}`}>
      <span>{name}</span>
      <div><small>0</small><i style={{ background: `linear-gradient(to right, ${stops})` }} /><small>{label}</small></div>
    </div>
  );
}

function Progress() {
  const progress = state.progress.value;
  if (!progress) return null;
  const what = state.shape.value?.building ? `Building ${state.modelLabel.value}: ${progress.stage}` : title(progress.stage);
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
  const shape = state.shape.value, rig = state.rig.value;
  const name = state.modelLabel.value;
  const ghost = state.compare.value === 'ghost' ? ' · linear as a ghost' : '';
  if (shape?.building) return <span class="tag rightTag" data-testid="building">{name} · building, linear until then</span>;
  const isPose = state.modelName.value === 'modal' && shape && shape.frame < 0;
  const differs = rig && state.apart.value > 1e-4 * rig.diagonal;
  return (
    <span class="tag rightTag" data-testid="right-tag">
      {name}{ghost}{isPose ? ' · pose, K sets it as a key' : differs ? <small> · up to {state.lengthText(state.apart.value)} from {state.leftInText.value}</small> : ''}
    </span>
  );
}

/** What a newcomer should see first. */
const FIRST_EXAMPLES = [['bend', 'a bend that does not shrink'], ['lips', 'lips that press']];

function Viewport() {
  const host = useRef<HTMLDivElement>(null), right = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void viewModule.then(({ View }) => (view.value = new View(host.current!, right.current!)));
  }, []);
  const side = state.compare.value === 'side';
  const hint = state.example.value;
  return (
    <main class={`view ${side ? 'split' : ''}`} aria-label="View">
      <div class="stage" ref={host} data-testid="stage">
        <div class="half" style={{ display: side ? '' : 'none' }} />
        <div class="half" ref={right} data-testid="physical" />
      </div>
      {side && <span class="tag leftTag">{state.leftName.value}</span>}
      <RightTag />
      {!state.rig.value && <div class="loading" role="status">{state.connection.value === 'open' ? 'Loading the rig…' : 'Connecting…'}</div>}
      {hint && state.member.studio.value?.hint !== false && (
        <div class="coach" role="note">
          <Pointer size={15} aria-hidden="true" /> {hint.hint}
          <IconButton label="Hide this hint" onClick={() => patch([{ op: 'add', path: '/studio/hint', value: false }], 'Hide the hint')}><X size={13} /></IconButton>
        </div>
      )}
      {!hint && state.rig.value && !state.history.value.undo.length && !state.history.value.redo.length && (
        <div class="coach" role="note">
          <Pointer size={15} aria-hidden="true" />
          <span>
            Left: linear. Right: physics, colored where it differs. Drag a slider, pull a cheek (<kbd>P</kbd>) or drop a GLB. Or see{' '}
            {FIRST_EXAMPLES.map(([name, text]) => <Fragment key={name}><button type="button" class="link strong underline" title="Open this example; undo brings back what was there" data-testid={`try-${name}`} onClick={() => open({ example: name })}>{text}</button>, </Fragment>)}
            <button type="button" class="link strong underline" title="Open the start screen" data-testid="examples" onClick={() => (state.dialog.value = 'start')}>all six examples</button>.
          </span>
        </div>
      )}
      <Legend />
      <div class="tools" role="radiogroup" aria-label="Tool">
        {TOOLS.map(({ value, label, hint: text, icon: Icon }) => (
          <button type="button" role="radio" key={value} aria-checked={state.tool.value === value} title={text} data-testid={`tool-${value}`} onClick={() => chooseTool(value)}>
            <Icon size={15} aria-hidden="true" /> {label}
          </button>
        ))}
        <IconButton label="Frame the shape (F)" onClick={() => view.value?.home()}><Maximize size={15} /></IconButton>
      </div>
      <Figures />
      <Progress />
      {state.warnings.value.length > 0 && (
        <div class="warnings" role="status">
          <ul>{state.warnings.value.slice(-2).map((text) => <li key={text}>{text}</li>)}</ul>
          <IconButton label="Hide the warnings" onClick={() => (state.warnings.value = [])}><X size={12} /></IconButton>
        </div>
      )}
    </main>
  );
}

// ---- keyboard, files ---------------------------------------------------------------------------

function nudge(frames: number) {
  if (state.clip.value.frames > 1) seek(Math.max(0, Math.min(state.clip.value.frames - 1, state.playhead.value + frames)));
}

function onKey(event: KeyboardEvent) {
  const target = event.target as HTMLElement;
  const typing = ['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName) && (target as HTMLInputElement).type !== 'checkbox' && (target as HTMLInputElement).type !== 'range';
  const command = event.ctrlKey || event.metaKey;
  if (command && event.key.toLowerCase() === 'z' && !typing) {
    event.preventDefault();
    if (event.shiftKey) redo();
    else undo();
    return;
  }
  if (command && event.key.toLowerCase() === 'y') return event.preventDefault(), redo();
  if (command && event.key.toLowerCase() === 's') return event.preventDefault(), send({ type: 'save' });
  if (typing || command || event.altKey || state.dialog.value) return;
  const turns: { [key: string]: [number, number] } = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  if (event.shiftKey && turns[event.key]) return event.preventDefault(), view.value?.turn(...turns[event.key]);
  if (event.key === '+' || event.key === '-') return event.preventDefault(), view.value?.zoom(event.key === '+' ? 1.1 : 1 / 1.1);
  const cycle = <T,>(list: T[], now: T) => list[(list.indexOf(now) + 1) % list.length];
  const actions: { [key: string]: () => void } = {
    ' ': () => play(!state.time.value.playing),
    ArrowLeft: () => nudge(-1),
    ArrowRight: () => nudge(1),
    Home: () => seek(0),
    End: () => seek(state.clip.value.frames - 1),
    k: setKey,
    c: () => (state.compare.value = cycle(['side', 'ghost', 'single'], state.compare.value)),
    o: () => chooseTool('orbit'),
    p: () => chooseTool('pull'),
    s: () => chooseTool('pose'),
    n: () => chooseTool('pin'),
    l: () => chooseTool('lock'),
    m: () => state.member.markers.value && chooseTool('map'),
    w: () => (state.wireframe.value = !state.wireframe.value),
    h: () => (state.overlay.value = cycle(['none', 'difference', 'stretch', 'motion'], state.overlay.value)),
    f: () => view.value?.home(),
    r: () => setWeights(Object.fromEntries((state.rig.value?.sliders ?? []).map((s) => [s.name, s.rest])), 'Reset all sliders'),
    t: () => (state.theme.value = state.theme.value === 'dark' ? 'light' : 'dark'),
    '/': () => document.getElementById('slider-search')?.focus(),
    '?': () => (state.dialog.value = 'help'),
    Escape: () => {
      if (state.progress.value) cancel();
      state.selectedObstacle.value = -1;
    },
  };
  const models = state.hello.value?.models ?? [];
  const digit = Number(event.key);
  if (digit >= 1 && digit <= models.length) chooseModel(models[digit - 1].name);
  else {
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || (event.key === ' ' && target.tagName === 'BUTTON')) return;
    event.preventDefault();
    action();
  }
}

async function droppedFiles(items: DataTransferItemList | undefined, files: FileList): Promise<File[]> {
  const entries = [...(items ?? [])].map((item) => item.webkitGetAsEntry?.()).filter((e): e is FileSystemEntry => !!e);
  if (!entries.some((entry) => entry.isDirectory)) return [...files];
  const result: File[] = [];
  const walk = async (entry: FileSystemEntry): Promise<void> => {
    if (entry.isFile) result.push(await new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
    else {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      for (;;) {
        const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
        if (!batch.length) break;
        for (const inner of batch) await walk(inner);
      }
    }
  };
  for (const entry of entries) await walk(entry);
  return result;
}

addEventListener('keydown', onKey);
addEventListener('dragover', (event) => {
  event.preventDefault();
  dropping.value = true;
});
addEventListener('dragleave', (event) => {
  if (!event.relatedTarget) dropping.value = false;
});
addEventListener('drop', async (event) => {
  event.preventDefault();
  dropping.value = false;
  if (!event.dataTransfer) return;
  const files = await droppedFiles(event.dataTransfer.items, event.dataTransfer.files);
  if (files.length) {
    state.tell(`Opening ${files.length === 1 ? files[0].name : `${files.length} files`}…`);
    await sendFiles(files);
  }
});

function App() {
  return (
    <>
      <Header />
      <Sliders />
      <Viewport />
      <Side />
      <Timeline view={view.value} />
      <Dialogs view={view.value} />
      {dropping.value && <div class="drop" role="status">Drop a rig, a clip, a take or a scene</div>}
      <div class="toasts" role="log" aria-live="polite">
        {state.toasts.value.map((toast) => <div key={toast.id} class={`toast ${toast.kind}`}>{toast.text}</div>)}
      </div>
    </>
  );
}

connect();
setTimeout(() => render(<App />, document.getElementById('app')!)); // a task of its own

// For tests and measurements.
Object.assign(window, { studio: { state, patch, view: () => view.value, unanswered, clearLatency } });
