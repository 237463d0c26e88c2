// Long tasks of the page while a person works in it:
//   scripts/studio-tasks [--rig FILE] [--top N]
// Each row is a step of a walk through the studio with the longest task of the page's main thread:
// how long it lasted, and the processor time it took itself. What is left is waiting: for drawing,
// which without a GPU happens on the processor in another process, and for other programs.
import { cpus, loadavg } from 'node:os';
import { openPage, read, settled, startBrowser, startFresh, until } from './support.mjs';

const words = process.argv.slice(2);
const option = (name) => (words.includes(name) ? words.splice(words.indexOf(name), 2)[1] : null);
const rig = option('--rig'), top = Number(option('--top') ?? 0);
const server = await startFresh(rig);
const browser = await startBrowser();
const cdp = await browser.newBrowserCDPSession();
const CATEGORIES = ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline', ...(top ? ['disabled-by-default-v8.cpu_profiler', 'v8'] : [])];

const processes = new Set(), mains = new Set();

/** Tasks of the page's main thread during `work`, longest processor time first. */
async function record(work) {
  const events = [];
  const collect = ({ value }) => events.push(...value);
  cdp.on('Tracing.dataCollected', collect);
  await cdp.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: CATEGORIES } });
  try {
    await work();
  } finally {
    const complete = new Promise((resolve) => cdp.once('Tracing.tracingComplete', resolve));
    await cdp.send('Tracing.end');
    await complete;
    cdp.off('Tracing.dataCollected', collect);
  }
  // The browser has pages of its own.
  for (const e of events) if (e.args?.data?.url?.startsWith(new URL(server.address).origin)) processes.add(e.pid);
  for (const e of events) if (e.name === 'thread_name' && e.args.name === 'CrRendererMain') mains.add(`${e.pid} ${e.tid}`);
  const ofPage = events.filter((e) => processes.has(e.pid) && mains.has(`${e.pid} ${e.tid}`));
  const tasks = ofPage.filter((e) => e.ph === 'X' && e.name === 'RunTask').sort((a, b) => b.tdur - a.tdur);
  return { tasks, events, ofPage };
}
export { record };

/** Functions in which a task spent its time, by samples. */
function functions({ events }, task) {
  const nodes = new Map(), self = new Map(), starts = new Map();
  for (const e of events.filter((e) => e.pid === task.pid && e.name === 'ProfileChunk').sort((a, b) => a.ts - b.ts)) {
    const profile = e.args.data.cpuProfile ?? {};
    for (const node of profile.nodes ?? []) nodes.set(`${e.id} ${node.id}`, { ...node.callFrame, parent: node.parent ? `${e.id} ${node.parent}` : null });
    let at = starts.get(e.id) ?? events.find((s) => s.name === 'Profile' && s.id === e.id && s.pid === e.pid)?.args.data.startTime;
    (profile.samples ?? []).forEach((id, i) => {
      at += e.args.data.timeDeltas[i];
      if (at < task.ts || at > task.ts + task.dur) return;
      const key = `${e.id} ${id}`;
      const stack = [];
      for (let n = nodes.get(key); n && stack.length < 12; n = nodes.get(n.parent)) stack.push(n.functionName || `(anonymous ${n.lineNumber})`);
      const text = stack.slice(0, 7).join(' < ');
      self.set(text, (self.get(text) ?? 0) + e.args.data.timeDeltas[i]);
    });
    starts.set(e.id, at);
  }
  return [...self].sort((a, b) => b[1] - a[1]).slice(0, 8);
}
const LIMIT = 50000; // microseconds
const ms = (microseconds) => (microseconds / 1000).toFixed(0);
let page;
async function step(name, work) {
  const result = await record(work);
  const { tasks } = result;
  const most = tasks[0] ?? { dur: 0, tdur: 0 }, longest = Math.max(0, ...tasks.map((t) => t.dur));
  const over = tasks.filter((t) => t.tdur > LIMIT).length;
  console.log(`${name.padEnd(34)} ${ms(most.tdur).padStart(8)} ${ms(longest).padStart(10)} ${String(over).padStart(8)}`);
  for (const task of tasks.filter((t, i) => t.tdur > LIMIT || i < top)) {
    const inside = result.ofPage.filter((e) => e.ph === 'X' && e !== task && e.ts >= task.ts && e.ts + e.dur <= task.ts + task.dur && e.tdur > 5000 && !/RunTask/.test(e.name));
    console.log(`   ${ms(task.tdur)} ms of processor in ${ms(task.dur)} ms: ${inside.map((e) => `${e.name} ${ms(e.tdur)}`).join(', ')}`);
    if (top) for (const [text, time] of functions(result, task)) console.log(`      ${ms(time).padStart(5)} ms ${text}`);
  }
}

const drag = (page, milliseconds) =>
  page.evaluate(async (ms) => {
    const { state, patch } = window.studio;
    const name = (state.rig.value.sliders.find((s) => s.name === 'jawOpen') ?? state.rig.value.sliders[0]).name;
    const start = performance.now();
    if (!state.scene.value.weights) patch([{ op: 'add', path: '/weights', value: {} }], 'weights');
    while (performance.now() - start < ms) {
      patch([{ op: 'add', path: `/weights/${name}`, value: 0.4 + 0.3 * Math.sin((performance.now() - start) / 300) }], 'drag', { gesture: 'tasks' });
      await new Promise((resolve) => setTimeout(resolve, 16));
    }
  }, milliseconds);

console.log(`${rig ?? 'sample face'}; ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}`);
console.log('step                               most ms of   longest    tasks over\n                                    processor   task ms    50 ms of processor');
await step('open the page', async () => {
  page = await openPage(browser, server.address);
  await until(page, 'state.shape.value && state.rig.value && view.isSharp');
});
await step('two seconds later', () => page.waitForTimeout(2000));
await settled(page);
await step('move a slider', () => drag(page, 3000));
await step('at rest', () => until(page, 'view.isSharp'));
await step('heat maps', async () => {
  for (const mode of ['difference', 'stretch', 'motion', 'none']) {
    await page.getByTestId(`overlay-${mode}`).click();
    await settled(page);
  }
});
await step('hover with Pull', async () => {
  await page.getByTestId('tool-pull').click();
  for (let i = 0; i < 10; i++) await page.mouse.move(760 + 6 * i, 300);
});
await step('pull a point', async () => {
  await page.mouse.down();
  for (let i = 0; i < 30; i++) await page.mouse.move(820 + i, 300);
  await page.mouse.up();
  await settled(page);
});
await step('paint a lock', async () => {
  await page.getByTestId('tool-lock').click();
  await page.mouse.move(780, 300);
  await page.mouse.down();
  for (let i = 0; i < 30; i++) await page.mouse.move(780 + 3 * i, 300);
  await page.mouse.up();
  await settled(page);
});
await step('interference matrix', async () => {
  await page.getByTestId('interference').click();
  await until(page, 'state.interference.value');
  await page.waitForTimeout(300);
  await page.keyboard.press('Escape');
});
await step('wireframe, ghost, light', async () => {
  await page.getByTestId('tool-orbit').click();
  for (const key of ['w', 'c', 't', 'c', 'c', 'w', 't']) {
    await page.keyboard.press(key);
    await settled(page);
  }
});
for (const model of ['rotation', 'spring', 'force'])
  await step(`model ${model}`, async () => {
    await page.getByTestId(`model-${model}`).click();
    await settled(page);
    await drag(page, 1500);
    await settled(page);
  });
await step('start screen', async () => {
  await page.getByTestId('open').click();
  await until(page, 'state.previews.value.size === state.hello.value.examples.length');
  await page.waitForTimeout(4000);
});
await step('open the creature', async () => {
  await page.getByTestId('example-creature').click();
  await until(page, 'state.modes.value && state.modeShapes.value.length');
  await page.waitForTimeout(2000);
});
await step('play it', async () => {
  await page.getByTestId('play').click();
  await page.waitForTimeout(3000);
  await page.getByTestId('play').click();
});
await browser.close();
await server.stop();
