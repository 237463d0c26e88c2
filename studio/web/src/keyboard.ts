// Keys that work anywhere on the page; the dialog on `?` lists them.
import { setKey } from './keys';
import { cancel, play, redo, seek, send, setWeights, undo } from './link';
import { chooseModel } from './header';
import * as state from './state';
import { chooseTool } from './tools';
import { view } from './viewport';

function nudge(frames: number) {
  if (state.clip.value.frames > 1) seek(Math.max(0, Math.min(state.clip.value.frames - 1, state.playhead.value + frames)));
}

export function onKey(event: KeyboardEvent) {
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
    f: () => view.value?.frame(),
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
