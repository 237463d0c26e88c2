// The start screen: examples that move, and the built-in rigs.
import { FolderOpen } from 'lucide-preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { close, Dialog } from './dialog';
import { Film, play, wantsCalm } from './film';
import { open, send, sendFiles } from './link';
import * as state from './state';
import type { View } from './view';

/** Until the example is solved. */
const SKETCHES: { [name: string]: string } = {
  bend: 'M8 46 C 8 20 24 8 50 8 C 76 8 92 20 92 46 M24 46 C 24 30 34 22 50 22 C 66 22 76 30 76 46',
  rod: 'M50 30 m-12 0 a12 12 0 1 0 24 0 a12 12 0 1 0 -24 0 M20 50 C 20 20 38 8 56 10 C 74 12 80 26 74 38',
  lips: 'M10 30 C 30 14 42 14 50 20 C 58 14 70 14 90 30 C 70 46 30 46 10 30 M10 30 C 34 30 66 30 90 30',
  creature: 'M36 50 C 20 50 20 14 50 14 C 80 14 80 50 64 50 Z M36 18 L 30 4 L 44 14 M64 18 L 70 4 L 56 14',
  brow: 'M14 22 C 24 10 38 10 46 18 M54 18 C 62 10 76 10 86 22 M24 44 C 40 54 60 54 78 36',
  take: 'M6 40 C 20 10 30 50 46 26 S 70 14 94 38 M6 48 C 24 24 34 44 50 34 S 76 26 94 46',
};

const WIDTH = 208, HEIGHT = 182;

/** Frames a and b and the share between them, `turn` of the way through the preview. */
function phase(preview: state.Preview, turn: number): [number, number, number] {
  const last = preview.frames - 1;
  if (last < 1) return [0, 0, 0];
  const at = last * turn;
  const from = Math.min(last - 1, Math.floor(at));
  return [from, from + 1, at - from];
}

/** Linear and physical side by side. Still ones show the phase in which they differ most. */
function Moving({ preview, view, isStill }: { preview: state.Preview; view: View; isStill: boolean }) {
  const left = useRef<HTMLCanvasElement>(null), right = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const length = preview.back ? 16 : Math.min(preview.frames, 30);
    const film = new Film(length, WIDTH, HEIGHT, (canvas, k, which) => view.preview(canvas, preview, which ? 'physical' : 'linear', ...phase(preview, k / Math.max(1, length - 1))), 2);
    const still = Math.round((mostDifferent(preview) / Math.max(1, preview.frames - 1)) * (length - 1));
    return play((seconds) => {
      const turn = seconds / preview.seconds;
      // Back and forth slows down at the ends; a clip starts again.
      const share = preview.back ? 0.5 - 0.5 * Math.cos(Math.PI * turn) : turn % 1;
      const k = isStill ? still : Math.min(length - 1, Math.round(share * (length - 1)));
      film.show(k, left.current!, right.current!);
    });
  }, [preview, view, isStill]);
  return (
    <div class="moving" aria-hidden="true">
      <figure><canvas ref={left} width={WIDTH} height={HEIGHT} /><figcaption>linear</figcaption></figure>
      <figure><canvas ref={right} width={WIDTH} height={HEIGHT} /><figcaption>physical</figcaption></figure>
    </div>
  );
}

function mostDifferent({ frames, rig, linear, physical }: state.Preview): number {
  let best = 0, most = -1;
  for (let k = 0; k < frames; k++) {
    let sum = 0;
    for (let i = 3 * rig.vertices * k; i < 3 * rig.vertices * (k + 1); i++) sum += (linear[i] - physical[i]) ** 2;
    if (sum > most) [best, most] = [k, sum];
  }
  return best;
}

function Tile({ example, view }: { example: state.Example; view: View | null }) {
  const [isOver, setOver] = useState(false);
  const preview = state.previews.value.get(example.name);
  useEffect(() => {
    if (!state.previews.peek().has(example.name)) send({ type: 'preview', example: example.name });
  }, []);
  return (
    <li>
      <button type="button" title="Open this example; undo brings back what was there" data-testid={`example-${example.name}`} onClick={() => { open({ example: example.name }); close(); }}
        onPointerEnter={() => setOver(true)} onPointerLeave={() => setOver(false)} onFocus={() => setOver(true)} onBlur={() => setOver(false)}>
        {preview && view
          ? <Moving preview={preview} view={view} isStill={wantsCalm() && !isOver} />
          : <svg viewBox="0 0 100 56" aria-hidden="true"><path d={SKETCHES[example.name] ?? ''} /></svg>}
        <b>{example.title}</b>
        <span>{example.hint}</span>
      </button>
    </li>
  );
}

export function Start({ view }: { view: View | null }) {
  const hello = state.hello.value;
  const files = useRef<HTMLInputElement>(null);
  if (!hello) return null;
  return (
    <Dialog title="Open" wide>
      <ul class="tiles">
        {hello.examples.map((example) => <Tile key={example.name} example={example} view={view} />)}
      </ul>
      <h2>Built-in rigs with a clip</h2>
      <div class="chips">
        {hello.samples.map((sample) => (
          <button type="button" class="chip" key={sample.name} title={sample.summary} data-testid={`sample-${sample.name}`} onClick={() => { open({ sample: sample.name }); close(); }}>{sample.name}</button>
        ))}
      </div>
      <h2>Your files</h2>
      <div class="openfiles">
        <button type="button" class="button" title="A GLB or FBX, OBJ files, a clip (CSV), a take (C3D, TRC, CSV) or a scene (JSON)" data-testid="open-files" onClick={() => files.current!.click()}><FolderOpen size={14} /> Open files…</button>
        <input type="file" ref={files} hidden multiple data-testid="files" onChange={(event) => {
          const list = [...(event.currentTarget.files ?? [])];
          if (!list.length) return;
          void sendFiles(list);
          close();
        }} />
        <span>Or drop a rig (GLB, FBX, OBJ files), a clip (CSV), a take (C3D, TRC, CSV) or a scene (JSON) anywhere on the page. Opening something can be undone.</span>
      </div>
    </Dialog>
  );
}
