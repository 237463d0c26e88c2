// What the tests of the studio share: a server, a script client, a browser, a list of tests.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { connect } from '../../client.mjs';

export const require = createRequire(join(process.env.SINEW_WEB_MODULES ?? '', 'x.js'));
/** Milliseconds for what never happens; what does happen is waited for, however busy the machine. */
export const PATIENCE = 300000;
const command = process.env.SINEW_COMMAND ?? 'build/sinew';

const folders = [];
process.on('exit', () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A folder that goes when the tests end. */
export function scratchFolder() {
  folders.push(mkdtempSync(join(tmpdir(), 'sinew-studio-')));
  return folders.at(-1);
}

/** A studio in a folder of its own; `args` may name a scene in it. */
export async function startServer({ folder, args = [], port = 0 } = {}) {
  const home = folder ?? scratchFolder();
  const child = spawn(command, ['studio', '--no-browser', '--port', String(port), ...args], {
    cwd: home,
    env: { ...process.env, XDG_STATE_HOME: home, SINEW_CACHE: join(home, 'cache') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const server = { child, home, log: '', address: '', exited: null };
  server.exited = new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })));
  child.stderr.on('data', (data) => (server.log += data));
  server.address = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      if (text.includes('\n')) resolve(text.split('\n')[0]);
    });
    child.on('exit', () => reject(new Error(`the server ended: ${server.log}`)));
  });
  server.port = Number(new URL(server.address).port);
  server.connect = () => connect(server.address, require('ws'));
  server.kill = async (signal = 'SIGKILL') => {
    child.kill(signal);
    return server.exited;
  };
  server.stop = () => server.kill('SIGINT');
  return server;
}

/** Writes a body of 2 m, body.obj, and a target in targets/ that moves a face of 20 cm at its upper end. */
export function writeBody(folder) {
  const side = 8, positions = [], faces = [];
  for (const [across, from, to] of [[0.5, 0, 1.8], [0.2, 1.8, 2]]) {
    const first = positions.length + 1;
    for (let j = 0; j < side; j++)
      for (let i = 0; i < side; i++) positions.push([across * (i / (side - 1) - 0.5), from + ((to - from) * j) / (side - 1), 0.01 * ((i * j) % 3)]);
    for (let j = 0; j + 1 < side; j++)
      for (let i = 0; i + 1 < side; i++) faces.push([0, 1, side + 1, side].map((k) => first + side * j + i + k));
  }
  const text = (lift) => positions.map((p, v) => `v ${p[0]} ${p[1]} ${p[2] + (v >= side * side ? lift : 0)}\n`).join('') + faces.map((f) => `f ${f.join(' ')}\n`).join('');
  mkdirSync(join(folder, 'targets'));
  writeFileSync(join(folder, 'body.obj'), text(0));
  writeFileSync(join(folder, 'targets', 'puff.obj'), text(0.02));
  return { count: positions.length, face: side * side };
}

/** A studio of a copy of a rig, without what was done in it before; without a rig, of the sample face. */
export async function startFresh(rig) {
  const home = scratchFolder();
  if (rig) cpSync(rig, join(home, basename(rig)), { recursive: true });
  return startServer({ folder: home, args: rig ? [basename(rig)] : [] });
}

export async function startBrowser() {
  const { chromium } = require('playwright-core');
  return chromium.launch({
    timeout: PATIENCE,
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

/** Every call of WebGL is made, with no triangles: what is left of drawing is what the page does itself. */
function drawNothing() {
  const gl = WebGL2RenderingContext.prototype;
  const without = (name, place) => {
    const draw = gl[name];
    gl[name] = function (...values) {
      values[place] = 0;
      return draw.apply(this, values);
    };
  };
  for (const name of ['drawElements', 'drawElementsInstanced']) without(name, 1);
  for (const name of ['drawArrays', 'drawArraysInstanced']) without(name, 2);
  without('drawRangeElements', 3);
}

/** A page of the server; collects what must not happen. */
export async function openPage(browser, address, { size = { width: 1280, height: 720 }, strict = false, drawn = true } = {}) {
  // Tests evaluate text in the page, which its security policy forbids; `strict` pages keep it.
  const page = await browser.newPage({ viewport: size, acceptDownloads: true, bypassCSP: !strict });
  if (!drawn) await page.addInitScript(drawNothing);
  page.setDefaultTimeout(PATIENCE);
  page.problems = [];
  page.on('console', (message) => {
    const lost = /WebSocket connection|ERR_CONNECTION_REFUSED/.test(message.text());
    if (message.type() === 'error' && !lost) page.problems.push(message.text());
  });
  page.elsewhere = [];
  page.on('request', (request) => {
    if (!['blob:', 'data:'].includes(new URL(request.url()).protocol) && new URL(request.url()).host !== new URL(address).host) page.elsewhere.push(request.url());
  });
  page.on('pageerror', (error) => page.problems.push(error.message));
  await page.goto(address);
  return page;
}

/** Waits for a condition on the page's state; `what` is evaluated there with (state, argument). */
export const until = (page, what, argument) =>
  page.waitForFunction(([text, a]) => new Function('state', 'view', 'a', `return ${text}`)(window.studio.state, window.studio.view(), a), [what, argument], { timeout: PATIENCE, polling: 50 });
export const read = (page, what, argument) =>
  page.evaluate(([text, a]) => new Function('state', 'view', 'a', `return ${text}`)(window.studio.state, window.studio.view(), a), [what, argument]);

/** The server has answered all patches. */
export const answered = (page) => until(page, 'window.studio.unanswered() === 0');

/** The newest revision is on the screen. */
export async function settled(page) {
  await until(page, `window.studio.unanswered() === 0 && state.shape.value && !state.shape.value.building && !state.progress.value && state.shape.value.revision >= state.revision.value`);
  const drawn = await read(page, 'view.frameCount');
  await read(page, 'view.invalidate()');
  await until(page, 'view.frameCount > a', drawn);
}

/** Repeats a question until the answer is yes. */
export async function eventually(condition, message) {
  for (const end = Date.now() + PATIENCE; !(await condition()); await new Promise((resolve) => setTimeout(resolve, 20)))
    if (Date.now() > end) throw new Error(message());
}

const tests = [];
export const test = (name, run) => tests.push({ name, run });
export function check(condition, message) {
  if (!condition) throw new Error(message);
}
export const near = (a, b, tolerance, message) =>
  check(Math.abs(a - b) <= tolerance, `${message}: ${a} against ${b}`);

export async function runTests(only) {
  let passed = 0, failed = 0;
  for (const { name, run } of tests) {
    if (only && !only.split('|').some((o) => name.includes(o))) continue;
    const start = Date.now();
    try {
      await run();
      passed++;
      console.log(`[       OK ] ${name} (${Date.now() - start} ms)`);
    } catch (error) {
      failed++;
      console.log(`[  ERROR   ] ${name}: ${error.stack ?? error}`);
    }
  }
  console.log(`[  PASSED  ] ${passed} test(s).`);
  if (failed) console.log(`[  FAILED  ] ${failed} test(s).`);
  return failed;
}
