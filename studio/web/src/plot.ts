// A plot in a panel: follows the theme, the size of its host and the signals that it shows.
import { effect, type Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import * as state from './state';

export const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Room for half of the last label of the time axis. */
const RIGHT = 24;

/** Labels of an axis: as many digits as its steps need. */
export const ticksIn = (unit = '') => (_plot: uPlot, ticks: number[], _axis: number, _space: number, step: number) => {
  // Steps are 1, 2, 2.5 or 5 times a power of ten.
  let digits = 0;
  while (digits < 12 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
  const text = (x: number) => (digits <= 4 ? x.toFixed(digits).replace(/^-(0(\.0*)?)$/, '$1') : x ? x.toExponential(Math.max(0, digits - Math.ceil(-Math.log10(Math.abs(x))))) : '0');
  return ticks.map((x) => `${text(x)}${unit && ` ${unit}`}`);
};

/** A hook that draws the playhead over a plot whose x axis is time in seconds. */
export function drawPlayhead(u: uPlot) {
  const { start, rate } = state.clip.peek();
  const x = u.valToPos(start + state.playhead.peek() / (rate || 30), 'x', true);
  u.ctx.save();
  u.ctx.strokeStyle = css('--text');
  u.ctx.globalAlpha = 0.8;
  u.ctx.beginPath();
  u.ctx.moveTo(x, u.bbox.top);
  u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
  u.ctx.stroke();
  u.ctx.restore();
}

export interface PlotContent {
  /** As long as it stays the same, only the data change: cheap enough for every picture of a drag. */
  key: string;
  options: Partial<uPlot.Options>;
  data: uPlot.AlignedData;
}

/** `make` is called again when a signal that it reads changes; `redraw` draws the plot anew as it is. */
export function usePlot(make: () => PlotContent | null, redraw: Signal<unknown> | null = null, ready: (plot: uPlot) => void = () => {}) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current!;
    let plot: uPlot | null = null, key = '';
    const build = (isNew: boolean) => {
      const made = element.clientWidth ? make() : null;
      if (plot && made && made.key === key && !isNew) return plot.setData(made.data);
      plot?.destroy();
      plot = null;
      if (!made) return;
      key = made.key;
      const axis = { stroke: css('--dim'), grid: { stroke: css('--line'), width: 1 }, ticks: { show: false }, font: `11px ${css('--font')}` };
      plot = new uPlot(
        {
          width: element.clientWidth, height: element.clientHeight, legend: { show: false },
          cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
          ...made.options,
          padding: [made.options.padding?.[0] ?? 22, RIGHT, 0, 0],
          scales: { x: { time: false }, ...made.options.scales },
          axes: [{ ...axis, size: 24, ...made.options.axes?.[0] }, { ...axis, size: 40, ...made.options.axes?.[1] }],
          series: made.options.series ?? [{}],
        },
        made.data,
        element,
      );
      ready(plot);
    };
    let theme = state.theme.peek();
    const stop = [
      effect(() => {
        const isNew = state.theme.value !== theme;
        theme = state.theme.value;
        make(); // reads the signals that the plot depends on
        queueMicrotask(() => build(isNew));
      }),
      effect(() => {
        void redraw?.value;
        plot?.redraw(false);
      }),
    ];
    void document.fonts.ready.then(() => element.isConnected && build(true)); // a canvas does not wait for fonts
    const observer = new ResizeObserver(() => build(true));
    observer.observe(element);
    return () => {
      stop.forEach((s) => s());
      observer.disconnect();
      plot?.destroy();
    };
  }, []);
  return host;
}
