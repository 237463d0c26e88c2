import { effect } from '@preact/signals';
import { render } from 'preact';
import { Dialogs } from './dialogs';
import { DropTarget, watchDrops } from './dropping';
import './fonts.css';
import { Header } from './header';
import { onKey } from './keyboard';
import { clearLatency, connect, patch } from './link';
import { unanswered } from './scene_copy';
import { Side } from './side';
import { Sliders } from './sliders';
import * as state from './state';
import './style.css';
import { Timeline } from './timeline';
import { view, Viewport } from './viewport';

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

effect(() => remember('sinew-timeline', state.timeHeight.value === null ? null : String(state.timeHeight.value)));

effect(() => {
  const { style, dataset } = document.documentElement, height = state.timeHeight.value;
  dataset.clip = state.hasClip.value ? 'some' : 'none'; // without one, the view gets the room
  if (height && state.hasClip.value) style.setProperty('--time-height', `${height}px`);
  else style.removeProperty('--time-height');
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
      <DropTarget />
    </>
  );
}

addEventListener('keydown', onKey);
watchDrops();
connect();
setTimeout(() => render(<App />, document.getElementById('app')!)); // a task of its own

// For tests and measurements.
Object.assign(window, { studio: { state, patch, view: () => view.value, unanswered, clearLatency } });
