// The server without a browser: protocol, history, restarts, and people who mean no good.
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { readBinary } from '../../client.mjs';
import { PATIENCE, check, eventually, near, require, runTests, scratchFolder, startServer, test, writeBody } from './support.mjs';

const WebSocket = require('ws');
const SCENE = { sinew: 1, rig: { sample: 'bar', vertices: 1000 }, model: 'spring', weights: {} };

function project(scene = SCENE) {
  const folder = scratchFolder();
  writeFileSync(join(folder, 'scene.json'), JSON.stringify(scene));
  return { folder, args: ['scene.json'] };
}

const status = (server, path, headers = {}, method = 'GET') =>
  new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port: server.port, path, method, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    request.on('error', reject);
    request.end();
  });

/** 'open', or why not. */
const tryShake = (server, { token = true, headers = {}, protocol = 'sinew-studio-1', path = '/ws' } = {}) =>
  new Promise((resolve) => {
    const search = token === true ? new URL(server.address).search : token ? `?t=${token}` : '';
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}${path}${search}`, protocol, { headers });
    socket.on('open', () => {
      resolve('open');
      socket.close();
    });
    socket.on('unexpected-response', (_request, response) => resolve(`status ${response.statusCode}`));
    socket.on('error', (error) => resolve(error.message));
  });

const memory = (server) => {
  const text = readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(text)[1]) / 1024;
};

/** What the server logs arrives through a pipe. */
const logs = (server, words) => eventually(() => words.test(server.log), () => server.log);

async function refuses(folder, args, reason) {
  const why = await startServer({ folder, args }).then(() => 'it started', (error) => error.message);
  check(reason.test(why), `${args.join(' ')}: ${why}`);
}

let shared;
test('a script drives the studio: slider, figures, undo, redo', async () => {
  shared = await startServer(project());
  const client = await shared.connect();
  const hello = await client.next('hello');
  check(hello.models.some((m) => m.name === 'spring' && m.parameters.length > 5), 'models have parameters');
  check(hello.examples.length === 6, 'six examples');
  const rig = await client.next('rig');
  check(rig.neutral.length === 3 * rig.vertices && rig.triangles.length > 0, 'the rig is whole');
  check(rig.triangles.every((v) => v < rig.vertices), 'triangles are in range');
  const rest = await client.next('frame', (f) => f.iterations >= 0 && f.frame === -1);
  client.patch([{ op: 'add', path: '/weights/bend180', value: 1 }], 'bend');
  const patch = await client.next('patch', (p) => p.label === 'bend');
  const bent = await client.next('frame', (f) => f.revision >= patch.revision);
  let moved = 0, apart = 0;
  for (let i = 0; i < bent.positions.length; i++) {
    moved = Math.max(moved, Math.abs(bent.positions[i] - rest.positions[i]));
    apart = Math.max(apart, Math.abs(bent.linear[i] - bent.positions[i]));
  }
  check(moved > 0.1, `the bar bends: ${moved}`);
  near(bent.weights[rig.sliders.findIndex((s) => s.name === 'bend180')], 1, 1e-9, 'weight');
  check(apart >= 0 && Number.isFinite(apart), 'the linear shape comes along');
  client.send({ type: 'undo' });
  const back = await client.next('patch', (p) => p.label === 'Undo');
  check(back.history.redo[0] === 'bend', 'redo is offered');
  const undone = await client.next('frame', (f) => f.revision >= back.revision);
  near(undone.weights[rig.sliders.findIndex((s) => s.name === 'bend180')], 0, 1e-9, 'undone weight');
  client.send({ type: 'redo' });
  await client.next('patch', (p) => p.label === 'Redo');
  client.close();
});

test('patches of one gesture are one step of the history', async () => {
  const client = await shared.connect();
  await client.next('scene');
  for (let i = 1; i <= 20; i++)
    client.patch([{ op: 'add', path: '/weights/twist1', value: i / 20 }], `twist ${i}`, { gesture: 'g1' });
  const last = await client.next('patch', (p) => p.label === 'twist 20');
  check(last.history.undo[0] === 'twist 20' && last.history.undo[1] !== 'twist 19', 'one step');
  client.send({ type: 'undo' });
  const undone = await client.next('patch', (p) => p.label === 'Undo');
  const scene = JSON.stringify(undone.ops);
  check(!scene.includes('0.95'), `back to before the gesture: ${scene}`);
  client.close();
});

test('a gesture shows rough shapes at once; the exact one follows when the hand rests', async () => {
  const client = await shared.connect();
  await client.next('frame', (f) => !f.building);
  client.patch([{ op: 'add', path: '/weights/bend180', value: 0.45 }], 'drag', { gesture: 'g2' });
  const { revision } = await client.next('patch', (p) => p.label === 'drag');
  const rough = await client.next('frame', (f) => f.revision === revision && !f.building);
  check(rough.rough && rough.converged && rough.residual < 1e-3, `rough: ${rough.residual}`);
  const exact = await client.next('frame', (f) => f.revision === revision);
  check(!exact.rough && exact.converged && exact.residual < 1e-6, `exact: ${exact.residual}`);
  await client.next('solved', (m) => m.revision === revision);
  const apart = Math.max(...exact.positions.map((x, i) => Math.abs(x - rough.positions[i])));
  check(apart < 1e-3, `the two differ by ${apart}`);
  // Without a gesture, the first is exact.
  client.patch([{ op: 'add', path: '/weights/bend180', value: 0.2 }], 'typed');
  const typed = await client.next('patch', (p) => p.label === 'typed');
  const frame = await client.next('frame', (f) => f.revision === typed.revision);
  check(!frame.rough && frame.residual < 1e-6, 'typed numbers are exact');
  client.send({ type: 'undo' });
  client.send({ type: 'undo' });
  client.close();
});

test('trial patches leave no trace', async () => {
  const client = await shared.connect();
  const before = JSON.stringify((await client.next('scene')).scene);
  const [, history] = [0, (await client.next('time'), null)];
  void history;
  client.patch([{ op: 'add', path: '/pulls', value: [] }, { op: 'add', path: '/pulls/-', value: { vertex: 5, to: [0, 0.3, 0], stiffness: 10 } }], 'pull', { trial: true });
  await client.next('patch', (p) => p.trial);
  client.patch([{ op: 'replace', path: '/pulls/0/to', value: [0, 0.4, 0] }], 'pull', { trial: true });
  await client.next('patch', (p) => p.trial);
  client.send({ type: 'settle' });
  await client.next('patch', (p) => p.ops.some((o) => o.op === 'remove'));
  const other = await shared.connect();
  const after = JSON.stringify((await other.next('scene')).scene);
  check(before === after, `the same document: ${before} ${after}`);
  client.close();
  other.close();
});

test('the interference matrix names who disturbs whom', async () => {
  const client = await shared.connect();
  const rig = await client.next('rig');
  client.send({ type: 'interference' });
  const found = await client.next('interference');
  const n = found.targets.length;
  check(n === rig.sliders.length && found.disturbance.length === n * n, 'a square matrix');
  for (let i = 0; i < n; i++) near(found.disturbance[i * n + i], 1, 1e-6, 'the diagonal');
  check(found.worst[0].disturbance >= found.worst.at(-1).disturbance, 'worst first');
  client.close();
});

test('a bad patch changes nothing and says where', async () => {
  const client = await shared.connect();
  const before = JSON.stringify((await client.next('scene')).scene);
  client.patch([{ op: 'add', path: '/weights/bend120', value: 0.5 }, { op: 'add', path: '/parameters', value: { volume: 'much' } }], 'bad');
  const error = await client.next('error');
  check(/volume/.test(error.message), error.message);
  check(JSON.stringify((await client.next('scene')).scene) === before, 'nothing changed');
  client.patch([{ op: 'replace', path: '/rig', value: { files: ['../../../etc/passwd'] } }], 'outside');
  check(/outside/.test((await client.next('error')).message), 'files outside are refused');
  client.patch([{ op: 'add', path: '/curves', value: { file: '/etc/passwd' } }], 'absolute');
  check(/outside/.test((await client.next('error')).message), 'absolute paths are refused');
  client.close();
});

test('two clients see the same patches', async () => {
  const [a, b] = [await shared.connect(), await shared.connect()];
  a.patch([{ op: 'add', path: '/weights/twist3', value: 0.25 }], 'shared');
  const [pa, pb] = [await a.next('patch', (p) => p.label === 'shared'), await b.next('patch', (p) => p.label === 'shared')];
  check(pa.revision === pb.revision && JSON.stringify(pa.ops) === JSON.stringify(pb.ops), 'the same patch');
  b.send({ type: 'undo' });
  check((await a.next('patch', (p) => p.label === 'Undo')).ops.length === 1, 'undo reaches the other');
  a.close();
  b.close();
});

test('a killed server comes back as it was, history included', async () => {
  const where = project();
  let server = await startServer(where);
  let client = await server.connect();
  client.patch([{ op: 'add', path: '/weights/bend120', value: 0.5 }], 'first');
  await client.next('patch', (p) => p.label === 'first');
  for (let i = 0; i < 10; i++) client.patch([{ op: 'add', path: '/weights/bend120', value: 0.5 + i / 20 }], `drag ${i}`, { gesture: 'd' });
  await client.next('patch', (p) => p.label === 'drag 9');
  const address = server.address;
  await server.kill('SIGKILL');
  server = await startServer({ ...where });
  check(server.address === address, `the same address: ${server.address} ${address}`);
  client = await server.connect();
  const { scene, history } = await client.next('scene');
  near(scene.weights.bend120, 0.95, 1e-9, 'weight after the restart');
  check(history.undo.join() === 'drag 9,first', `history: ${history.undo}`);
  client.send({ type: 'undo' });
  await client.next('patch', (p) => p.label === 'Undo');
  client.send({ type: 'undo' });
  const last = await client.next('patch', (p) => p.label === 'Undo' && p.history.undo.length === 0);
  check(last.history.redo.length === 2, 'both can be redone');
  await server.stop();
});

test('Ctrl-C ends it with code 0 or as cancelled', async () => {
  const server = await startServer(project());
  const client = await server.connect();
  await client.next('rig');
  const { code, signal } = await server.kill('SIGINT');
  check(signal === null && (code === 0 || code === 1), `code ${code} signal ${signal}`);
});

test('a wrong Host, Origin, token or path is refused and logged', async () => {
  const token = new URL(shared.address).search;
  check((await status(shared, `/${token}`)) === 200, 'the page is there');
  check((await status(shared, '/')) === 403, 'no token');
  check((await status(shared, '/?t=00000000000000000000000000000000')) === 403, 'wrong token');
  check((await status(shared, `/${token}`, { Host: 'evil.example' })) === 403, 'wrong Host');
  check((await status(shared, `/${token}`, { Host: `evil.example:${shared.port}` })) === 403, 'wrong Host with the port');
  for (const path of ['/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/..%2f..%2fetc/passwd', '/app.js/../../x', '//etc/passwd'])
    check([400, 403, 404].includes(await status(shared, path + token)), path);
  check((await status(shared, `/${token}`, {}, 'POST')) >= 400, 'POST');
  check((await tryShake(shared)) === 'open', 'a script without Origin');
  check((await tryShake(shared, { headers: { Origin: `http://127.0.0.1:${shared.port}` } })) === 'open', 'own Origin');
  for (const bad of [{ token: false }, { token: '00000000000000000000000000000000' }, { headers: { Origin: 'http://evil.example' } }, { headers: { Origin: 'null' } }, { headers: { Host: 'evil.example' } }, { path: '/other' }])
    check((await tryShake(shared, bad)) !== 'open', `refused: ${JSON.stringify(bad)}`);
  for (const words of [/refused: Host/, /refused: Origin/, /token/]) await logs(shared, words);
});

test('malformed messages close their socket and nothing else', async () => {
  const good = await shared.connect();
  const texts = ['', 'garbage', '[]', '{}', '{"type":5}', '{"type":"nonsense"}', '{"type":"patch"}', '{"type":"patch","ops":5}', '{"type":"seek","frame":"x"}', '{"type":"seek","frame":-7}', '{"type":"drag","vertex":-1,"to":[0,0,0],"gesture":"g"}', '{"type":"drag","vertex":1,"to":[0,null,0],"gesture":"g"}', '{"type":"open"}', '['.repeat(100000), '{"type":"patch","ops":[' + '{"op":"add","path":"/a","value":'.repeat(3000)];
  for (const text of texts) {
    const client = await shared.connect();
    const socket = new WebSocket(`ws://127.0.0.1:${shared.port}/ws${new URL(shared.address).search}`, 'sinew-studio-1');
    await new Promise((resolve) => socket.on('open', resolve));
    const ended = new Promise((resolve) => socket.on('close', (code) => resolve(code)));
    socket.send(text);
    const code = await ended;
    check(code === 1007, `${text.slice(0, 40)}: closed with ${code}`);
    client.close();
  }
  for (const bytes of [Buffer.alloc(0), Buffer.from([1, 2]), Buffer.from([255, 255, 255, 255, 0]), Buffer.from('\x02\0\0\0{}'), Buffer.concat([Buffer.from([60, 0, 0, 0]), Buffer.from('{"type":"files","files":[{"name":"a.obj","size":99999999}]}  ')])]) {
    const socket = new WebSocket(`ws://127.0.0.1:${shared.port}/ws${new URL(shared.address).search}`, 'sinew-studio-1');
    await new Promise((resolve) => socket.on('open', resolve));
    const ended = new Promise((resolve) => socket.on('close', (code) => resolve(code)));
    socket.send(bytes);
    check((await ended) === 1007, `bytes ${bytes.length}`);
  }
  good.patch([{ op: 'add', path: '/weights/twist1', value: 0.5 }], 'still here');
  await good.next('patch', (p) => p.label === 'still here');
  good.close();
});

test('garbage frames and half requests do not matter', async () => {
  for (let i = 0; i < 20; i++)
    await new Promise((resolve) => {
      const socket = net.connect(shared.port, '127.0.0.1', () => {
        const random = Buffer.from(Array.from({ length: 400 }, (_, k) => (k * 7919 + i * 104729) & 255));
        if (i % 2) socket.write(random);
        else socket.write(`GET /ws${new URL(shared.address).search} HTTP/1.1\r\nHost: 127.0.0.1:${shared.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: sinew-studio-1\r\n\r\n`);
        setTimeout(() => {
          socket.write(random);
          setTimeout(() => socket.destroy(), 20);
        }, 20);
      });
      socket.on('error', () => {});
      socket.on('close', resolve);
    });
  check((await tryShake(shared)) === 'open', 'still serving');
});

test('mutated messages never hurt the server', async () => {
  const seeds = ['{"type":"patch","id":1,"ops":[{"op":"add","path":"/weights/bend120","value":0.5}],"label":"x","gesture":"g"}', '{"type":"seek","frame":3}', '{"type":"play","on":true,"loop":false,"frame":2}', '{"type":"drag","vertex":3,"to":[0,0,0],"gesture":"d"}', '{"type":"patch","ops":[{"op":"remove","path":"/weights"},{"op":"add","path":"/obstacles/-","value":{"shape":"sphere","center":[0,9,0],"radius":0.1}}]}', '{"type":"settle"}', '{"type":"undo"}', '{"type":"redo"}', '{"type":"cancel"}'];
  let state = 12345;
  const random = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
  const before = memory(shared);
  let socket = null, closed = 0;
  for (let i = 0; i < 600; i++) {
    if (!socket || socket.readyState !== 1) {
      socket = new WebSocket(`ws://127.0.0.1:${shared.port}/ws${new URL(shared.address).search}`, 'sinew-studio-1');
      socket.on('close', () => closed++);
      await new Promise((resolve) => socket.on('open', resolve));
    }
    const bytes = Buffer.from(seeds[random(seeds.length)]);
    for (let k = random(4); k > 0; k--) bytes[random(bytes.length)] = [0x22, 0x7b, 0x5d, 0x2c, 0x30, 0x39, 0x2d, 0x41][random(8)];
    socket.send(random(8) ? bytes.toString() : bytes);
    if (random(4) === 0)
      await new Promise((resolve) => {
        if (socket.readyState !== 1) return resolve();
        socket.once('pong', resolve);
        socket.once('close', resolve);
        socket.ping();
      });
  }
  check(closed > 10, `malformed ones were closed: ${closed}`);
  check((await tryShake(shared)) === 'open', 'still serving');
  socket.close();
  check(memory(shared) - before < 200, `memory grew by ${memory(shared) - before} MB`);
  const client = await shared.connect();
  client.patch([{ op: 'replace', path: '', value: SCENE }], 'Start again');
  await client.next('patch', (p) => p.label === 'Start again');
  client.close();
});

test('a message of 2 GB is refused before it is read', async () => {
  const before = memory(shared);
  const code = await new Promise((resolve, reject) => {
    const socket = net.connect(shared.port, '127.0.0.1', () =>
      socket.write(`GET /ws${new URL(shared.address).search} HTTP/1.1\r\nHost: 127.0.0.1:${shared.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: sinew-studio-1\r\n\r\n`));
    let shaken = false;
    socket.on('data', () => {
      if (shaken) return;
      shaken = true;
      const head = Buffer.alloc(14); // a masked binary frame of 2^31 bytes
      head[0] = 0x82;
      head[1] = 0x80 | 127;
      head.writeBigUInt64BE(2n ** 31n, 2);
      socket.write(head);
      socket.write(Buffer.alloc(1 << 20));
    });
    socket.on('error', () => resolve('reset'));
    socket.on('close', () => resolve('closed'));
    setTimeout(() => reject(new Error('the socket stays open')), PATIENCE).unref();
  });
  check(code, 'closed');
  check(memory(shared) - before < 500, `memory grew by ${memory(shared) - before} MB`);
  await logs(shared, /too large/);
});

test('many reconnects and idle sockets leave memory flat', async () => {
  for (let i = 0; i < 60; i++) await tryShake(shared);
  const before = memory(shared);
  for (let i = 0; i < 1000; i += 20) await Promise.all(Array.from({ length: 20 }, () => tryShake(shared)));
  const idle = await Promise.all(Array.from({ length: 200 }, () => new Promise((resolve) => {
    const socket = net.connect(shared.port, '127.0.0.1', () => resolve(socket));
    socket.on('error', () => {});
  })));
  check((await tryShake(shared)) === 'open', 'served beside 200 idle sockets');
  idle.forEach((socket) => socket.destroy());
  await eventually(() => memory(shared) - before < 30, () => `memory grew from ${before} to ${memory(shared)} MB`);
});

test('files: a rig is dropped, a name cannot leave the folder', async () => {
  const client = await shared.connect();
  const obj = (x) => Buffer.from(`v 0 0 0\nv 1 0 0\nv 1 1 ${x}\nv 0 1 0\nf 1 2 3 4\n`);
  client.files([{ name: '../../evil/neutral.obj', bytes: obj(0) }, { name: 'lift.obj', bytes: obj(1) }]);
  const patch = await client.next('patch', (p) => p.label.startsWith('Open'));
  const files = patch.ops[0].value.rig.files;
  check(files.length === 2 && files.every((f) => /^scene\.json\.studio\/files\/[a-z.]+$/.test(f)), files.join());
  const rig = await client.next('rig', (r) => r.vertices === 4);
  check(rig.sliders.length === 1 && rig.sliders[0].name === 'lift', 'its slider');
  client.files([{ name: 'notes.txt', bytes: Buffer.from('hello') }]);
  check(/drop a rig/.test((await client.next('error')).message), 'other files are refused with a hint');
  client.send({ type: 'undo' });
  await client.next('rig', (r) => r.vertices > 500);
  client.close();
});

test('files keep their names; what was dropped before stays as it was', async () => {
  const client = await shared.connect();
  const obj = (x) => Buffer.from(`v 0 0 0\nv 1 0 0\nv 1 1 ${x}\nv 0 1 0\nf 1 2 3 4\n`);
  const shown = (name, height) => client.next('frame', (f) => f.positions.length === 12 && Math.abs(f.linear[8] - height) < 1e-6).catch(() => Promise.reject(new Error(name)));
  const opened = async () => (await client.next('patch', (p) => p.label.startsWith('Open'))).ops[0].value.rig.files.map((f) => f.split('.studio/')[1]);
  client.files([{ name: 'neutral.obj', bytes: obj(0) }, { name: 'Lächeln 1.obj', bytes: obj(1) }]);
  check((await opened()).join() === 'files/neutral.obj,files/Lächeln 1.obj', 'names as they are');
  await client.next('rig', (r) => r.sliders[0]?.name === 'Lächeln 1');
  client.patch([{ op: 'add', path: '/weights', value: { 'Lächeln 1': 1 } }], 'full');
  await shown('the first', 1);
  client.files([{ name: 'neutral.obj', bytes: obj(0) }, { name: 'Lächeln 1.obj', bytes: obj(3) }]); // exported again
  check((await opened()).join() === 'files/2/neutral.obj,files/2/Lächeln 1.obj', 'beside the first');
  client.patch([{ op: 'add', path: '/weights', value: { 'Lächeln 1': 1 } }], 'full');
  await shown('the second', 3);
  client.send({ type: 'undo' });
  client.send({ type: 'undo' });
  await shown('the first is back', 1);
  client.files([{ name: 'a/smile.obj', bytes: obj(0) }, { name: 'b/smile.obj', bytes: obj(1) }]);
  check(/two of the files are called smile\.obj/.test((await client.next('error')).message), 'two of one name');
  client.send({ type: 'undo' });
  client.send({ type: 'undo' });
  await client.next('rig', (r) => r.vertices > 500);
  client.close();
});

test('the neutral of several files is found by its name', async () => {
  const client = await shared.connect();
  const obj = Buffer.from('v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n'), target = Buffer.from('2 0 0 1\n');
  for (const [neutral, ...poses] of [['Rest.obj', 'a_grip.obj', 'Forest.obj'], ['cow_ref.obj', 'cow-1.obj'], ['head.obj', 'AA.target', 'z.obj'], ['baseMesh.obj', 'a.obj', 'rest.obj'], ['x_neutral.obj', 'base.obj']]) {
    client.files([neutral, ...poses].map((name) => ({ name, bytes: name.endsWith('.target') ? target : obj })));
    const { ops } = await client.next('patch', (p) => p.label.startsWith('Open'));
    check(ops[0].value.rig.files[0].endsWith(`/${neutral}`), `${neutral}: ${ops[0].value.rig.files[0]}`);
    client.send({ type: 'undo' });
  }
  client.close();
});

test('a character that is moved by bones brings a pose for each of its clips', async () => {
  const client = await shared.connect();
  const half = Math.SQRT1_2, floats = (...values) => Buffer.from(new Float32Array(values).buffer);
  const positions = [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0];
  const parts = [floats(...positions), Buffer.from(new Uint16Array([0, 1, 2, 0, 2, 3]).buffer), Buffer.alloc(16), floats(...[0, 1, 2, 3].flatMap(() => [1, 0, 0, 0])), floats(0, 1), floats(0, 0, 0, 0, 0, 2), floats(0, 0, 0, 0, 0, 0)];
  const kinds = [[5126, 4, 'VEC3'], [5123, 6, 'SCALAR'], [5121, 4, 'VEC4'], [5126, 4, 'VEC4'], [5126, 2, 'SCALAR'], [5126, 2, 'VEC3'], [5126, 2, 'VEC3']];
  let offset = 0;
  const bufferViews = parts.map((part) => ({ buffer: 0, byteOffset: (offset += part.length) - part.length, byteLength: part.length }));
  const move = (name, output) => ({ name, channels: [{ sampler: 0, target: { node: 2, path: 'translation' } }], samplers: [{ input: 4, output }] });
  const gltf = {
    asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: [0] }],
    nodes: [{ children: [1, 2], rotation: [half, 0, 0, half] }, { mesh: 0, skin: 0 }, {}], // stands up by a turn about x
    meshes: [{ primitives: [{ attributes: { POSITION: 0, JOINTS_0: 2, WEIGHTS_0: 3 }, indices: 1 }] }], skins: [{ joints: [2] }],
    animations: [move('Rig|Rise', 5), move('Rig|Still', 6)],
    accessors: kinds.map(([componentType, count, type], bufferView) => ({ bufferView, componentType, count, type, ...(bufferView ? {} : { min: [0, 0, 0], max: [1, 1, 0] }) })),
    bufferViews, buffers: [{ byteLength: offset, uri: `data:application/octet-stream;base64,${Buffer.concat(parts).toString('base64')}` }],
  };
  client.files([{ name: 'bones.gltf', bytes: Buffer.from(JSON.stringify(gltf)) }]);
  const { ops } = await client.next('patch', (p) => p.label === 'Open bones.gltf');
  check(ops[0].value.rig.files.map((f) => f.split('/files/')[1]).join() === 'bones.gltf.poses/bones.obj,bones.gltf.poses/Rise.obj', JSON.stringify(ops[0].value.rig));
  const rig = await client.next('rig', (r) => r.sliders[0]?.name === 'Rise');
  near(rig.neutral[3 * 2 + 2], 1, 1e-6, 'as the bones stand, not as the mesh lies in the file');
  client.patch([{ op: 'add', path: '/weights', value: { Rise: 1 } }], 'full');
  const { revision } = await client.next('patch', (p) => p.label === 'full');
  const frame = await client.next('frame', (f) => f.revision >= revision && f.linear.length === 12);
  near(frame.linear[1], -2, 1e-5, 'the farthest frame of the clip');
  client.send({ type: 'undo' });
  client.send({ type: 'undo' });
  await client.next('rig', (r) => r.vertices > 500);
  client.close();
});

test('helper geometry is not drawn', async () => {
  const client = await shared.connect();
  const square = (z) => `v 0 0 ${z}\nv 1 0 ${z}\nv 1 1 ${z}\nv 0 1 ${z}\n`;
  for (const [part, triangles] of [['helper-skirt', 2], ['skirt', 4]]) {
    client.files([{ name: `${part}.obj`, bytes: Buffer.from(`${square(0)}${square(1)}g body\nf 1 2 3 4\ng ${part}\nf 5 6 7 8\n`) }]);
    const rig = await client.next('rig', (r) => r.vertices === 8);
    check(rig.triangles.length === 3 * triangles && rig.triangle_part.length === triangles, `${part}: ${rig.triangles.length / 3} triangles`);
    client.send({ type: 'undo' });
    await client.next('rig', (r) => r.vertices > 500);
  }
  client.close();
});

test('groups and pairs come from names; a take and a clip are told apart by their columns', async () => {
  const client = await shared.connect();
  const grid = (lift) => {
    let text = '';
    for (let j = 0; j < 5; j++) for (let i = 0; i < 5; i++) text += `v ${i / 4} ${j / 4} ${lift(i / 4, j / 4)}\n`;
    for (let j = 0; j < 4; j++) for (let i = 0; i < 4; i++) text += `f ${5 * j + i + 1} ${5 * j + i + 2} ${5 * j + i + 7} ${5 * j + i + 6}\n`;
    return Buffer.from(text);
  };
  client.files([{ name: 'neutral.obj', bytes: grid(() => 0) }, { name: 'mouthSmile_L.obj', bytes: grid((x) => 0.1 * x) }, { name: 'mouthSmile_R.obj', bytes: grid((x) => 0.1 * (1 - x)) }]);
  const { sliders } = await client.next('rig', (r) => r.vertices === 25);
  const [left, right] = ['mouthSmile_L', 'mouthSmile_R'].map((name) => sliders.findIndex((s) => s.name === name));
  check(sliders[left].mirror === right && sliders[right].mirror === left && sliders[left].group === 'mouth', JSON.stringify(sliders));
  // Slider curves: the clip is shown, and its curves can be asked for.
  client.files([{ name: 'clip.csv', bytes: Buffer.from('time_s,mouthSmile_L\n0,0\n0.5,1\n1,0\n') }]);
  check((await client.next('patch', (p) => p.label === 'Open clip.csv')).ops[0].path === '/curves', 'a clip');
  await client.next('time', (t) => t.frame === 0);
  const clip = await client.next('clip', (c) => c.frames > 10);
  await client.next('frame', (f) => f.frame === 0);
  client.send({ type: 'curves' });
  const curves = await client.next('curves');
  check(curves.names.join() === 'mouthSmile_L' && curves.values.length === clip.frames, `${curves.names} ${curves.values.length}`);
  near(curves.values[Math.round((clip.frames - 1) / 2)], 1, 0.05, 'the peak of the curve');
  // Markers have three columns each, and would read as curves.
  const header = ['time_s', ...['A', 'B', 'C', 'D'].flatMap((n) => ['x', 'y', 'z'].map((a) => `${n}.${a}`))].join();
  const rows = [0, 0.5, 1].map((t) => [t, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0.01 * t].join());
  client.files([{ name: 'take.csv', bytes: Buffer.from([header, ...rows].join('\n') + '\n') }]);
  const taken = await client.next('patch', (p) => p.label === 'Open take.csv');
  check(taken.ops[0].path === '/markers' && taken.ops.some((o) => o.op === 'remove' && o.path === '/curves'), 'a take drives instead of the clip');
  client.files([{ name: 'bad.csv', bytes: Buffer.from('no,numbers\nhere,either\n') }]);
  check(/bad\.csv/.test((await client.next('error')).message), 'what is neither is refused by name');
  for (let i = 0; i < 3; i++) client.send({ type: 'undo' });
  await client.next('rig', (r) => r.vertices > 500);
  client.close();
});

test('beside a take, the linear face holds its head as the solved one does', async () => {
  const client = await shared.connect();
  const points = (lift) => Array.from({ length: 49 }, (_, k) => [(k % 7) / 6 - 0.5, Math.floor(k / 7) / 6 - 0.5]).map(([x, y]) => [x, y, 0.5 - x * x - y * y + lift(x, y)]);
  const faces = Array.from({ length: 36 }, (_, k) => 7 * Math.floor(k / 6) + (k % 6) + 1).map((a) => `f ${a} ${a + 1} ${a + 8} ${a + 7}`);
  const obj = (lift) => Buffer.from([...points(lift).map((p) => `v ${p.join(' ')}`), ...faces].join('\n') + '\n');
  client.files([{ name: 'neutral.obj', bytes: obj(() => 0) }, { name: 'jawOpen.obj', bytes: obj((x, y) => (y < -0.2 ? 0.1 : 0)) }]);
  await client.next('rig', (r) => r.vertices === 49);
  const marked = [0, 3, 6, 10, 15, 19, 21, 24, 27, 31, 38, 42, 45, 48], neutral = points(() => 0);
  const at = (t) => marked.flatMap((v) => { // a head that turns and moves away
    const [x, y, z] = neutral[v], c = Math.cos(0.5 * t), s = Math.sin(0.5 * t);
    return [c * x + s * z + 0.4 * t, y, c * z - s * x];
  });
  const names = marked.map((v) => `M${v}`), times = Array.from({ length: 31 }, (_, k) => k / 30);
  const take = [['time_s', ...names.flatMap((n) => ['x', 'y', 'z'].map((a) => `${n}.${a}`))].join(), ...times.map((t) => [t, ...at(t)].join())];
  client.files([{ name: 'turn.csv', bytes: Buffer.from(take.join('\n') + '\n') }]);
  await client.next('patch', (p) => p.label === 'Open turn.csv');
  client.files([{ name: 'turn_map.csv', bytes: Buffer.from(marked.map((v, i) => `${names[i]},${v}`).join('\n') + '\n') }]);
  const { revision } = await client.next('patch', (p) => p.label === 'Map turn_map.csv');
  client.send({ type: 'seek', frame: 30 });
  const frame = await client.next('frame', (f) => f.frame === 30 && f.revision >= revision);
  const far = (a, b) => Math.max(...a.map((value, i) => Math.abs(value - b[i])));
  check(far(frame.positions, neutral.flat()) > 0.3, 'the head moves');
  check(far(frame.positions, frame.linear) < 0.02, `the linear one with it: ${far(frame.positions, frame.linear)}`);
  client.send({ type: 'export', what: 'shape', format: 'obj' });
  const written = Buffer.from((await client.next('file')).bytes).toString().match(/^v .*/gm).flatMap((line) => line.split(' ').slice(1).map(Number));
  check(far(frame.positions, written) < 1e-6, 'the shape that is shown is exported');
  for (let i = 0; i < 3; i++) client.send({ type: 'undo' });
  await client.next('rig', (r) => r.vertices > 500);
  client.close();
});

test('a mesh that is too large for an obstacle is refused before it is read', async () => {
  const client = await shared.connect();
  writeFileSync(join(shared.home, 'huge.obj'), '');
  truncateSync(join(shared.home, 'huge.obj'), 65 << 20); // takes no room on the disk
  client.send({ type: 'mesh', file: 'huge.obj' });
  check(/huge\.obj is larger than 64 MiB/.test((await client.next('error')).message), 'by name');
  client.close();
});

test('sliders move the linear blend while a model is built', async () => {
  const client = await shared.connect();
  let round = 0, seen = null;
  // On a machine that is busy elsewhere the model may be built before the slider moves: then again.
  await eventually(async () => {
    const value = 0.3 + 0.01 * ++round, after = (revision) => (f) => f.revision >= revision;
    client.send({ type: 'patch', id: 1, label: `scene ${round}`, ops: [{ op: 'replace', path: '', value: { sinew: 1, rig: { sample: 'hand', vertices: 9000 }, model: 'spring', parameters: { stiffness_internal: 1 + round }, weights: {} } }] });
    const rest = await client.next('frame', after((await client.next('patch', (p) => p.label === `scene ${round}`)).revision));
    client.patch([{ op: 'add', path: '/weights/fist', value }], `fist ${round}`);
    const frame = await client.next('frame', after((await client.next('patch', (p) => p.label === `fist ${round}`)).revision));
    if (rest.building && frame.building) seen = { rest, frame };
    return seen;
  }, () => 'no blend was shown');
  const moved = seen.frame.positions.reduce((most, x, i) => Math.max(most, Math.abs(x - seen.rest.positions[i])), 0);
  check(moved > 1e-3, `the blend moves: ${moved}`);
  check(seen.frame.positions.every((x, i) => x === seen.frame.linear[i]), 'both shapes are the blend');
  await client.next('frame', (f) => !f.building);
  client.close();
});

test('a client that never tells what it has shown gets the physical shape too', async () => {
  const server = await startServer(project()), url = new URL(server.address);
  const socket = new WebSocket(`ws://${url.host}/ws${url.search}`, 'sinew-studio-1');
  let isPhysical = false;
  socket.on('message', (bytes, isBinary) => {
    const frame = isBinary ? readBinary(new Uint8Array(bytes)) : {};
    isPhysical ||= frame.type === 'frame' && !frame.building;
  });
  await eventually(() => isPhysical, () => 'only the linear blend');
  socket.close();
  await server.stop();
});

test('previews of examples give way to a person, and come afterwards', async () => {
  const server = await startServer();
  const client = await server.connect();
  await client.next('frame');
  const examples = (await client.next('hello')).examples.slice(0, 3).map((e) => e.name);
  for (const example of examples) client.send({ type: 'preview', example });
  const came = () => client.messages.filter((m) => m.type === 'preview').length;
  client.patch([{ op: 'add', path: '/weights', value: { jawOpen: 1 } }], 'jawOpen');
  const { revision } = await client.next('patch');
  await client.next('frame', (f) => f.revision >= revision && !f.building);
  client.send({ type: 'interference' });
  await client.next('interference');
  check(came() < examples.length, 'the previews did not come first');
  const missing = new Set(examples);
  while (missing.size) missing.delete((await client.next('preview')).example);
  client.close();
  await server.stop();
});

test('a neutral and its targets are opened together; other files start anew', async () => {
  const folder = scratchFolder();
  const body = writeBody(folder);
  let server = await startServer({ folder, args: ['body.obj', 'targets/'] });
  let client = await server.connect(), rig = await client.next('rig');
  check(rig.vertices === body.count && rig.sliders.map((s) => s.name).join() === 'puff', 'the target is a slider');
  near(rig.moved[1], 1.8, 1e-6, 'the lowest moved vertex');
  near(rig.moved[4], 2, 1e-6, 'the highest moved vertex');
  client.patch([{ op: 'add', path: '/weights', value: { puff: 0.5 } }], 'puff');
  await client.next('frame', (f) => f.weights[0] === 0.5);
  client.close();
  await server.stop();
  server = await startServer({ folder, args: ['./body.obj', join(folder, 'targets')] });
  client = await server.connect();
  check((await client.next('scene')).scene.weights?.puff === 0.5, 'the same rig goes on, however its files are written');
  client.close();
  await server.stop();
  server = await startServer({ folder, args: ['body.obj'] });
  client = await server.connect(), rig = await client.next('rig');
  check(rig.sliders.length === 0 && rig.moved === null, 'the neutral alone is another rig');
  client.close();
  await server.stop();
  for (const [args, reason] of [[['body.obj', '/'], /is not in the folder of the rig/], [['body.obj', 'no.obj'], /cannot read no\.obj/], [['no.json', 'body.obj'], /no\.json/]])
    await refuses(folder, args, reason);
});

test('a clip plays in order and can be exported', async () => {
  const client = await shared.connect();
  client.send({ type: 'open', sample: 'bar' });
  const clip = await client.next('clip', (c) => c.frames > 10);
  client.send({ type: 'seek', frame: 30 });
  const frame = await client.next('frame', (f) => f.frame === 30);
  near(frame.time, clip.start + 30 / clip.rate, 1e-6, 'time');
  check(frame.weights.some((w) => w > 0), 'the clip moves sliders');
  client.send({ type: 'play', on: true, loop: false, frame: 30 });
  await client.next('frame', (f) => f.frame > 32);
  client.send({ type: 'play', on: false });
  await client.next('time', (t) => !t.playing && t.frame >= 0);
  client.send({ type: 'export', what: 'shape', format: 'obj' });
  const shape = await client.next('file', (f) => f.name === 'shape.obj');
  check(/^v /m.test(Buffer.from(shape.bytes).toString().slice(0, 2000)), 'an OBJ');
  client.send({ type: 'export', what: 'curves', format: 'csv' });
  const curves = await client.next('file', (f) => f.name === 'curves.csv');
  check(/^time/.test(Buffer.from(curves.bytes).toString()), 'a CSV');
  client.send({ type: 'export', what: 'clip', format: '../../x' });
  check(/cannot export/.test((await client.next('error')).message), 'unknown formats are refused');
  client.close();
  const { code } = await shared.stop();
  check(code === 0 || code === 1, `ends cleanly: ${code}`);
});

process.exit((await runTests(process.argv[2])) ? 1 : 0);
