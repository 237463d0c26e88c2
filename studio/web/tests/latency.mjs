// From the command to the first picture, and from a slider to its picture, measured in the page:
//   scripts/studio-latency [--rig FILE] [--window WIDTHxHEIGHT] [--busy N] [--no-raster] [MODEL...]
// A person drags a slider at 60 steps a second; each sample is the time from the change in the page
// until WebGL has drawn its result. "Shape" ends when the positions are in the page: what is left is
// drawing, which without a GPU grows with the window. The browser runs already when the command is
// started. With --busy, N other processes keep a processor busy each. With --no-raster, WebGL is
// asked to draw everything, but without triangles: what a GPU would take off the processors is left
// out, and all that the server and the page do themselves is measured. The last row turns the view.
import { spawn } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { answered, openPage, read, settled, startBrowser, startFresh, until } from './support.mjs';

const words = process.argv.slice(2);
const option = (name) => (words.includes(name) ? words.splice(words.indexOf(name), 2)[1] : null);
const rig = option('--rig');
const [width, height] = (option('--window') ?? '1280x720').split('x').map(Number);
const busyCount = Number(option('--busy') ?? 0);
const raster = !words.includes('--no-raster') || !words.splice(words.indexOf('--no-raster'), 1);
const models = words.length ? words : ['linear', 'rotation', 'spring', 'force'];
const busy = Array.from({ length: busyCount }, () => spawn(process.execPath, ['-e', 'for (;;);']));
process.on('exit', () => busy.forEach((child) => child.kill())); // also after an error
const browser = await startBrowser();
const start = Date.now();
const server = await startFresh(rig);
const listening = Date.now() - start;
const page = await openPage(browser, server.address, { size: { width, height }, drawn: raster });
await page.waitForFunction(() => performance.getEntriesByName('face').length);
const first = await page.evaluate(() => {
  const at = (time) => performance.timeOrigin + time;
  return { loading: at(0), loaded: at(performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd), rig: at(performance.getEntriesByName('rig')[0].startTime), face: at(performance.getEntriesByName('face')[0].startTime) };
});
const vertices = await read(page, 'state.rig.value.vertices');
const slider = await read(page, `(state.rig.value.sliders.find((s) => s.name === 'jawOpen') ?? state.rig.value.sliders[0]).name`);
console.log(`${rig ?? 'sample face'}, ${vertices} vertices, slider ${slider}, window ${width} x ${height}; ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}${raster ? '' : '; nothing rasterized'}`);
const since = (time) => ((time - start) / 1000).toFixed(2);
console.log(`first picture ${since(first.face)} s after the command: server listens ${(listening / 1000).toFixed(2)}, page asked for ${since(first.loading)}, panels ${since(first.loaded)}, rig ${since(first.rig)}`);
console.log('                      shape ms     picture ms\nmodel      samples   p50    p95    p50    p95   solve p50 ms   longest task ms');

/** Turns the view for some seconds, as a hand with a mouse of 125 Hz does: pictures per second. */
async function orbit(milliseconds = 4000) {
  const stage = await page.getByTestId('stage').boundingBox();
  return page.evaluate(async ([x, y, length]) => {
    const target = document.elementFromPoint(x, y), view = window.studio.view();
    const send = (type, at, buttons) => target.dispatchEvent(new PointerEvent(type, { pointerId: 1, pointerType: 'mouse', isPrimary: true, bubbles: true, clientX: at, clientY: y, button: type === 'pointermove' ? -1 : 0, buttons }));
    let longest = 0;
    const observer = new PerformanceObserver((list) => list.getEntries().forEach((e) => (longest = Math.max(longest, e.duration))));
    observer.observe({ type: 'longtask' });
    send('pointerdown', x, 1);
    const start = performance.now(), gaps = [];
    const frames = view.frameCount, azimuth = view.camera.position.x;
    let last = start, turned = false;
    const tick = (now) => {
      gaps.push(now - last);
      last = now;
      if (now - start < length) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    while (performance.now() - start < length) {
      send('pointermove', x + 150 * Math.sin((performance.now() - start) / 400), 1);
      await new Promise((resolve) => setTimeout(resolve, 8));
      turned ||= Math.abs(view.camera.position.x - azimuth) > 1e-6;
    }
    send('pointerup', x, 0);
    observer.disconnect();
    if (!turned) throw new Error('the view does not turn');
    gaps.sort((a, b) => a - b);
    const rate = (1000 * (view.frameCount - frames)) / (performance.now() - start);
    return `orbit: ${rate.toFixed(1)} pictures a second, gaps p50 ${gaps[gaps.length >> 1].toFixed(1)} and p95 ${gaps[Math.floor(0.95 * gaps.length)].toFixed(1)} ms, longest task ${longest.toFixed(0)} ms`;
  }, [stage.x + 0.75 * stage.width, stage.y + 0.5 * stage.height, milliseconds]);
}

for (const model of models) {
  await page.evaluate((m) => {
    const { state, patch } = window.studio, add = { op: 'add', path: '/model', value: m };
    patch(state.scene.value.parameters ? [{ op: 'remove', path: '/parameters' }, add] : [add], 'model'); // parameters belong to a model
  }, model);
  await answered(page);
  await settled(page);
  if ((await read(page, 'state.modelName.value')) !== model) throw new Error(`the server refuses ${model}`);
  const result = await page.evaluate(async (name) => {
    const { state, patch, clearLatency } = window.studio;
    const solves = [];
    let longest = 0;
    const observer = new PerformanceObserver((list) => list.getEntries().forEach((e) => (longest = Math.max(longest, e.duration))));
    observer.observe({ type: 'longtask' });
    const drag = async (milliseconds) => {
      const start = performance.now();
      for (let last = null; performance.now() - start < milliseconds; ) {
        const value = 0.4 + 0.3 * Math.sin((performance.now() - start) / 300);
        patch([{ op: 'add', path: `/weights/${name}`, value }], 'drag', { gesture: 'latency' });
        await new Promise((resolve) => setTimeout(resolve, 16));
        if (state.shape.value !== last) solves.push((last = state.shape.value).ms);
      }
    };
    if (!state.scene.value.weights) patch([{ op: 'add', path: '/weights', value: {} }], 'weights');
    await drag(1500); // warm
    clearLatency();
    solves.length = longest = 0;
    await drag(6000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    observer.disconnect();
    solves.sort((a, b) => a - b);
    return { ...state.latency.value, solve: solves[solves.length >> 1], longest };
  }, slider);
  const cell = (x, width) => (x === undefined ? '-' : x.toFixed(1)).padStart(width);
  console.log(
    `${model.padEnd(9)} ${String(result.count ?? 0).padStart(8)} ${cell(result.shape?.p50, 5)} ${cell(result.shape?.p95, 6)} ${cell(result.p50, 6)} ${cell(result.p95, 6)} ${cell(result.solve, 14)} ${cell(result.longest, 17)}`,
  );
}
if (width >= 800) console.log(await orbit()); // smaller windows have no room for the view
await browser.close();
await server.stop();

