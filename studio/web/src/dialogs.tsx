// Keyboard map, export and interference, over everything else.
import { useEffect, useRef, useState } from 'preact/hooks';
import { close, Dialog } from './dialog';
import { download, send } from './link';
import { setKey } from './keys';
import { Start } from './start';
import * as state from './state';
import type { View } from './view';

const KEYS: [string, string][] = [
  ['Space', 'Play or pause'],
  ['← →', 'Previous, next frame'],
  ['Home, End', 'First, last frame'],
  ['K', 'Set a key of this pose at the playhead'],
  ['Ctrl Z, Ctrl Shift Z', 'Undo, redo'],
  ['Ctrl S', 'Save the scene file'],
  ['1 … 6', 'Model: linear, rotation, spring …'],
  ['C', 'Compare: side by side, ghost, single'],
  ['O, P, S, N, L', 'Tool: orbit, pull, pose by sliders, pin, lock brush'],
  ['M', 'Tool: correct the markers of a take'],
  ['W', 'Wireframe'],
  ['H', 'Next heat map'],
  ['F', 'Frame the shape'],
  ['Shift ← → ↑ ↓, + −', 'Rotate the view, zoom'],
  ['/', 'Search sliders'],
  ['R', 'Reset all sliders (in the left panel, Delete resets one)'],
  ['Esc', 'Cancel a solve, close a dialog, clear the selection'],
  ['T', 'Switch between light and dark'],
  ['?', 'This page'],
];

function Help() {
  return (
    <Dialog title="Keyboard and mouse">
      <dl class="keys">
        {KEYS.map(([key, what]) => [<dt key={key}><kbd>{key}</kbd></dt>, <dd key={key + 'd'}>{what}</dd>])}
      </dl>
      <p class="note">Drag to rotate the view, right-drag to move it, and use the wheel to zoom. With pull, pose or pin, drag a point of the surface. Sliders: Shift-drag for fine control, double-click to reset, click the number to type a value, Ctrl-click to show several curves.</p>
    </Dialog>
  );
}

const CLIP_FORMATS = [
  ['glb', 'GLB', 'Blender, Unity, Unreal'],
  ['usda', 'USD', 'Houdini, Omniverse'],
  ['pc2', 'PC2', 'Blender, 3ds Max'],
  ['mdd', 'MDD', 'Maya and others'],
];

function Export({ view }: { view: View }) {
  const clip = state.clip.value.frames > 1, hasCurves = clip && state.modelName.value !== 'modal';
  const ask = (what: string, format: string) => {
    send({ type: 'export', what, format });
    state.tell('Computing the export…');
    close();
  };
  const choice = (testid: string, name: string, what: string, hint: string, run: () => void, disabled = false) => (
    <button type="button" key={testid} title={hint} disabled={disabled} data-testid={testid} onClick={run}><b>{name}</b><span>{what}</span></button>
  );
  return (
    <Dialog title="Export">
      <h2>The clip{clip ? `, ${state.clip.value.frames} frames` : ''}</h2>
      {!clip && (
        <p class="note">There is no clip yet. <button type="button" class="link strong underline" title="Set keys at 0, 1 and 2 s" data-testid="make-clip" onClick={setKey}>Make one of two seconds</button> that moves from rest to this pose and back, or drop a clip on the page.</p>
      )}
      <div class="exports">
        {CLIP_FORMATS.map(([f, name, what]) => choice(`export-clip-${f}`, name, what, `The physical shape of each frame as ${name}`, () => ask('clip', f), !clip))}
        {choice('export-curves', 'Curves (CSV)', 'Slider weights over time', clip && !hasCurves ? 'Modal moves between key poses: it has no slider curves' : 'The weights of all sliders in each frame, after locks', () => ask('curves', 'csv'), !hasCurves)}
      </div>
      <h2>{state.showsClip.value ? 'This frame' : 'This pose'}</h2>
      <div class="exports">
        {choice('export-shape-obj', 'Mesh (OBJ)', 'The physical shape', 'The mesh of the shape in the right view', () => ask('shape', 'obj'))}
        {choice('export-picture', 'Picture (PNG)', 'The views as shown', 'The views as they are shown, without panels', async () => { download('picture.png', await view.picture()); close(); })}
        {choice('export-turntable', 'Turntable (WebM)', 'One rotation, 4 s', 'A video of one rotation around the shape', async () => {
          close();
          state.tell('Recording the turntable…');
          await view.turntable().then((blob) => download('turntable.webm', blob), (error: Error) => state.tell(error.message, 'error'));
        })}
      </div>
      <h2>The scene</h2>
      <div class="exports">
        {choice('export-scene', 'Scene (JSON)', 'For sinew run', 'Everything in one file that sinew run computes', () => { download('scene.json', JSON.stringify(state.scene.value, null, 2)); close(); })}
        {choice('export-save', 'Save in the project', 'Ctrl S', 'Write the scene file of this project', () => { send({ type: 'save' }); close(); })}
      </div>
    </Dialog>
  );
}

const CELL = 11;

/** The matrix as a picture; a click selects the two sliders. */
function Matrix() {
  const data = state.interference.value;
  const ref = useRef<HTMLCanvasElement>(null);
  const [over, setOver] = useState('');
  useEffect(() => {
    const canvas = ref.current;
    if (!canvas || !data) return;
    const n = data.targets.length;
    const context = canvas.getContext('2d')!;
    const style = getComputedStyle(document.documentElement);
    context.fillStyle = style.getPropertyValue('--bg');
    context.fillRect(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++) {
        const value = i === j ? 0 : Math.min(1, data.disturbance[i * n + j]);
        if (value < 0.02 && i !== j) continue;
        context.globalAlpha = i === j ? 0.25 : 0.15 + 0.85 * value;
        context.fillStyle = style.getPropertyValue(i === j ? '--dim' : '--accent');
        context.fillRect(j * CELL, i * CELL, CELL - 1, CELL - 1);
      }
  }, [data]);
  if (!data) return <Dialog title="Which sliders disturb which"><p class="note">Computing…</p></Dialog>;
  const n = data.targets.length;
  const select = (i: number, j: number) => {
    const names = [data.sliders[i], data.sliders[j]].filter((s): s is string => !!s);
    close();
    state.selectedSliders.value = [...new Set(names)];
    state.tell(`Selected ${names.join(' and ')}`);
  };
  const cell = (event: MouseEvent) => {
    const rect = ref.current!.getBoundingClientRect();
    return [Math.floor(((event.clientY - rect.top) / rect.height) * n), Math.floor(((event.clientX - rect.left) / rect.width) * n)];
  };
  return (
    <Dialog title="Which sliders disturb which" wide>
      <div class="matrix">
        <figure>
          <canvas ref={ref} width={n * CELL} height={n * CELL} role="img" aria-label="Interference matrix"
            onMouseMove={(event) => {
              const [i, j] = cell(event);
              if (i >= 0 && j >= 0 && i < n && j < n) setOver(i === j ? data.targets[i] : `${data.targets[j]} disturbs ${data.targets[i]} by ${Math.round(100 * data.disturbance[i * n + j])} %`);
            }}
            onMouseLeave={() => setOver('')}
            onClick={(event) => select(...(cell(event) as [number, number]))} />
          <figcaption><span>0 %</span><i /><span>100 % and more</span></figcaption>
        </figure>
        <div>
          <p class="note matrixhint">{over || 'Each cell shows how much the column disturbs the row: at 100 %, the column moves the vertices as much as the row itself. Click a cell to select the two sliders.'}</p>
          <h2>Worst pairs</h2>
          <ol class="pairs">
            {[...data.worst].sort((a, b) => b.disturbance - a.disturbance).slice(0, 12).map((pair) => (
              <li key={`${pair.disturbed}-${pair.disturber}`}>
                <button type="button" class="link strong" title="Select the two sliders" onClick={() => select(pair.disturbed, pair.disturber)}>{data.targets[pair.disturber]} → {data.targets[pair.disturbed]}</button>
                <output>{Math.round(100 * pair.disturbance)} %</output>
              </li>
            ))}
          </ol>
        </div>
      </div>
    </Dialog>
  );
}

export function Dialogs({ view }: { view: View | null }) {
  const which = state.dialog.value;
  if (which === 'start') return <Start view={view} />;
  if (which === 'help') return <Help />;
  if (which === 'interference') return <Matrix />;
  if (which === 'export' && view) return <Export view={view} />;
  return null;
}
