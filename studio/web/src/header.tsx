// The bar at the top: what is open, its model, undo, comparison, export.
import { ChevronDown, CircleHelp, Columns2, Download, Ghost, Moon, Redo2, Square, Sun, Undo2 } from 'lucide-preact';
import { Choices, IconButton } from './controls';
import { MOST_KEYS } from './keys';
import { patch, redo, seek, undo } from './link';
import type { Operation } from './patch';
import * as state from './state';

type Keys = NonNullable<state.Scene['keys']>;

/** Modes need poses to swing between: the keys of the clip, or from rest to the pose on the screen. */
function firstPoses(start: number): Keys {
  const { times, values } = state.scene.value.curves ?? {};
  const nonzero = (weights: [string, number][]) => Object.fromEntries(weights.filter(([, w]) => Math.abs(w) > 1e-4));
  if (times && values && times.length > 1 && times.length <= MOST_KEYS)
    return times.map((time, k) => ({ time, weights: nonzero(Object.entries(values).map(([slider, list]) => [slider, list[k]])) }));
  const pose = nonzero(Object.entries(state.weights.value)), first = state.rig.value?.sliders[0]?.name;
  if (!Object.keys(pose).length && first) pose[first] = 1;
  return [{ time: start, weights: {} }, { time: start + 0.5, weights: pose }];
}

/** Poses that modes swing between, as slider curves: the other models move straight from one to the next. */
function curvesOf(keys: Keys): NonNullable<state.Scene['curves']> {
  const weights = keys.map((key) => ({ ...(key.pose ? { [key.pose]: 1 } : {}), ...key.weights }));
  const names = [...new Set(weights.flatMap((pose) => Object.keys(pose)))];
  return { times: keys.map((key) => key.time), values: Object.fromEntries(names.map((name) => [name, weights.map((pose) => pose[name] ?? 0)])) };
}

/** Keys that were set for Modal when it was chosen, and whether the length of the clip came with them. */
let given: { keys: string; time: boolean } | null = null;

export function chooseModel(name: string) {
  const ops: Operation[] = [{ op: 'add', path: '/model', value: name }];
  // Parameters belong to a model: another one would refuse them.
  if (state.member.parameters.value) ops.unshift({ op: 'remove', path: '/parameters' });
  // With the default, which is for clips, a hand on the cheek would carry the whole head along.
  if (name === 'spring') ops.push({ op: 'add', path: '/parameters', value: { pull_to_blend: 0.03 } });
  const { keys, time, curves, markers, model } = state.scene.value;
  let frame: number | null = null;
  if (name === 'modal' && !keys) {
    const poses = firstPoses(time?.from ?? 0), last = poses[poses.length - 1].time;
    ops.push({ op: 'add', path: '/keys', value: poses as never });
    if (!time) ops.push({ op: 'add', path: '/time', value: { from: 0, to: last + 2 } });
    given = { keys: JSON.stringify(poses), time: !time };
    // The pose on the screen stays there.
    frame = curves ? state.playhead.value : Math.round(0.5 * (time?.fps ?? 30));
    state.tell(poses.length > 2 ? 'Modal swings between the keys of the clip. Press play.' : 'Modal swings between key poses: from rest to this pose, then freely. Press play.');
  } else if (model === 'modal' && name !== 'modal' && keys) {
    // Only modes use keys. Those that came with Modal go with it; those that somebody set become curves.
    const untouched = given?.keys === JSON.stringify(keys);
    ops.push({ op: 'remove', path: '/keys' });
    if (untouched && given?.time && time && !curves && !markers) ops.push({ op: 'remove', path: '/time' });
    if (!untouched && !curves && !markers) ops.push({ op: 'add', path: '/curves', value: curvesOf(keys) as never });
    else if (!curves && !markers) frame = -1;
  }
  if (name === 'fit' && !state.member.markers.value) state.tell('Fit follows captured markers: drop a take (C3D, TRC, CSV)');
  patch(ops, `Model ${name}`);
  if (frame !== null) seek(frame);
}

const title = (name: string) => name.replace(/^./, (c) => c.toUpperCase());
const COMPARE: { value: state.Compare; label: string; icon: typeof Columns2 }[] = [
  { value: 'side', label: 'Side by side', icon: Columns2 },
  { value: 'ghost', label: 'Linear as a ghost', icon: Ghost },
  { value: 'single', label: 'Physical only', icon: Square },
];

export function Header() {
  const hello = state.hello.value;
  const rigName = state.member.rig.value?.sample ?? state.member.rig.value?.files?.[0]?.split('/').pop() ?? 'rig';
  return (
    <header class="top">
      <strong class="brand">Sinew</strong>
      <button type="button" class="button" title="Open an example, a sample or a file" data-testid="open" onClick={() => (state.dialog.value = 'start')}>
        <span>{rigName}</span> <ChevronDown size={14} aria-hidden="true" />
      </button>
      {hello && (
        <Choices
          class="segmented"
          label="Model"
          value={state.modelName.value}
          options={hello.models.map((m, i) => ({ value: m.name, label: title(m.name), hint: `${m.summary.replace(/^./, (c) => c.toUpperCase())} (${i + 1})` }))}
          onChange={chooseModel}
        />
      )}
      <span class="grow" />
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
