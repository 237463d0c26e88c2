// Small moving pictures: each phase is drawn once and kept, so that many of them can play at once,
// also where drawing takes long.
let busyUntil = 0, isBusy = false;
/** Films with phases that are not drawn yet, and when they were on the screen last. */
const unfinished = new Map<Film, number>();

export class Film {
  private frames: (HTMLCanvasElement[] | null)[];
  private drawn = 0;
  private isDrawing = false;

  /** `draw` fills a canvas with one phase, as seen by one of `views` that always show the same phase. */
  constructor(readonly length: number, private width: number, private height: number, private draw: (canvas: HTMLCanvasElement, phase: number, view: number) => Promise<void>, private views = 1) {
    this.frames = new Array(length).fill(null);
  }

  /** Shows a phase, or until it is drawn the one nearest to it. */
  show(phase: number, ...canvases: HTMLCanvasElement[]) {
    if (!this.frames[phase] && this.isTurn(performance.now())) void this.make(phase);
    this.nearest(phase)?.forEach((frame, view) => {
      const context = canvases[view].getContext('2d')!;
      context.clearRect(0, 0, this.width, this.height);
      context.drawImage(frame, 0, 0);
    });
  }

  /** Drawing takes a third of the page's time, and starts with the film that has the fewest phases. */
  private isTurn(now: number): boolean {
    unfinished.set(this, now);
    if (this.isDrawing) return false;
    if (this.drawn === 0) return true; // its first picture does not wait
    if (isBusy || now < busyUntil) return false;
    for (const [film, seen] of unfinished) {
      if (now - seen > 1000) unfinished.delete(film);
      else if (film.drawn < this.drawn) return false;
    }
    return true;
  }

  private async make(phase: number) {
    const start = performance.now();
    isBusy = this.isDrawing = true;
    this.frames[phase] = await this.drawViews(phase).finally(() => (isBusy = this.isDrawing = false));
    const end = performance.now();
    if (this.drawn > 0) busyUntil = end + 2 * (end - start);
    if (++this.drawn === this.length) unfinished.delete(this);
  }

  private async drawViews(phase: number) {
    const canvases: HTMLCanvasElement[] = [];
    for (let view = 0; view < this.views; view++) {
      const canvas = document.createElement('canvas');
      canvas.width = this.width;
      canvas.height = this.height;
      await this.draw(canvas, phase, view);
      canvases.push(canvas);
    }
    return canvases;
  }

  private nearest(phase: number): HTMLCanvasElement[] | null {
    for (let d = 0; d < this.length; d++) {
      const found = this.frames[phase - d] ?? this.frames[phase + d];
      if (found) return found;
    }
    return null;
  }
}

/** Calls `phase` with the seconds since the start, before each picture of the page; returns how to end it. */
export function play(phase: (seconds: number) => void): () => void {
  const start = performance.now();
  let request = requestAnimationFrame(function step(now) {
    phase(Math.max(0, now - start) / 1000);
    request = requestAnimationFrame(step);
  });
  return () => cancelAnimationFrame(request);
}

export const wantsCalm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
