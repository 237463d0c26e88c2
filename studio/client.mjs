// A small client of the studio's protocol (docs/protocol.md), as an example and for the tests.
//
//   node studio/client.mjs ADDRESS            prints the sliders, opens the jaw, prints the figures
//
// needs the package `ws` where Node has no WebSocket of its own (before Node 22).

/** Reads a binary message: length, JSON header, arrays. */
export function readBinary(bytes) {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = data.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  const arrays = {};
  const kinds = { f32: Float32Array, u32: Uint32Array, i32: Int32Array, u8: Uint8Array };
  for (const [name, kind, count] of header.arrays) {
    const size = count * kinds[kind].BYTES_PER_ELEMENT;
    arrays[name] = new kinds[kind](bytes.slice(at, at + size).buffer);
    at += size;
  }
  return { ...header, ...arrays };
}

/** Connects and returns {messages, send, patch, next, close}. */
export async function connect(address, Socket = globalThis.WebSocket) {
  const url = new URL(address);
  const socket = new Socket(`ws://${url.host}/ws${url.search}`, 'sinew-studio-1');
  socket.binaryType = 'arraybuffer';
  const messages = [], waiting = [];
  let id = 0;
  const client = {
    messages,
    closed: null,
    send: (message) => socket.send(JSON.stringify(message)),
    patch: (ops, label, more = {}) => client.send({ type: 'patch', id: ++id, ops, label, ...more }),
    files: (files) => {
      const header = Buffer.from(JSON.stringify({ type: 'files', files: files.map(({ name, bytes }) => ({ name, size: bytes.length })) }));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(header.length);
      socket.send(Buffer.concat([length, header, ...files.map((f) => f.bytes)]));
    },
    /** The first message, old or new, of that type that fits; it is taken off the list. */
    next: (type, fits = () => true, timeout = 300000) =>
      new Promise((resolve, reject) => {
        const i = messages.findIndex((m) => m.type === type && fits(m));
        if (i >= 0) return resolve(messages.splice(i, 1)[0]);
        const entry = { type, fits, resolve };
        waiting.push(entry);
        setTimeout(() => {
          waiting.splice(waiting.indexOf(entry), 1);
          reject(new Error(`no message '${type}' within ${timeout} ms; closed: ${JSON.stringify(client.closed)}`));
        }, timeout).unref?.();
      }),
    close: () => socket.close(),
  };
  socket.onmessage = (event) => {
    const message = typeof event.data === 'string' ? JSON.parse(event.data) : readBinary(new Uint8Array(event.data));
    if (message.type === 'frame') client.send({ type: 'shown' });
    const i = waiting.findIndex((w) => w.type === message.type && w.fits(message));
    if (i >= 0) waiting.splice(i, 1)[0].resolve(message);
    else messages.push(message);
  };
  client.ended = new Promise((resolve) => {
    socket.onclose = (event) => resolve((client.closed = { code: event.code, reason: event.reason }));
  });
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = (event) => reject(new Error(event.message ?? 'refused'));
  });
  return client;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const client = await connect(process.argv[2], globalThis.WebSocket ?? (await import('ws')).default);
  const rig = await client.next('rig');
  console.log(`${rig.vertices} vertices, sliders: ${rig.sliders.map((s) => s.name).join(' ')}`);
  const slider = rig.sliders[0].name;
  client.patch([{ op: 'add', path: '/weights', value: { [slider]: 1 } }], `${slider} 1.00`);
  const { revision } = await client.next('patch');
  const frame = await client.next('frame', (f) => f.revision >= revision);
  console.log(`${slider} = 1: ${frame.ms.toFixed(1)} ms, ${frame.iterations} steps, residual ${frame.residual}`);
  client.close();
}
