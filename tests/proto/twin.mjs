// The TypeScript twin against bytes made by C: every golden message that a browser receives
// decodes, everything it sends is byte for byte what C sends, and the stream decodes to the same
// hashes. Runs on Node 18.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [bundle, golden] = process.argv.slice(2);
const p = await import(pathToFileURL(bundle).href);
await p.zstdReady();
let failures = 0;
const expect = (what, good) => {
  if (!good) {
    failures++;
    console.log(`  FAIL ${what}`);
  }
};
const bytesOf = (name) => new Uint8Array(readFileSync(`${golden}/${name}.bin`));
const payloadOf = (name) => [...new p.Inbox().take(bytesOf(name))][0].payload;
const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
const fnv = (bytes) => {
  let hash = 2166136261;
  for (const b of bytes) hash = Math.imul(hash ^ b, 16777619);
  return (hash >>> 0).toString(16).padStart(8, '0');
};
const raw = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

// What a browser sends.
const hash = (start) => Uint8Array.from({ length: 16 }, (_, i) => (start + i) * 7);
const identity = Array.from({ length: 26 }, () => [0, 0, 0, 1]);
const sent = {
  ping: p.encodePing(3, 111222333),
  pong: p.encodePong({ id: 3, pingTime: 111222333, receiveTime: 444555666, sendTime: 444555777 }),
  bye: p.encodeNote(p.Type.BYE, { code: 3, messageType: 0, fatal: true, subject: 5, retryMs: 1500, text: 'back soon — bis gleich' }),
  ack: p.encodeAck({ clientTime: 1000000, offset: -250, rtt: 800, queueCount: 2, entries: [
    { actor: 9, frame: 41, receiveTime: 999000, renderTime: 999800 },
    { actor: 10, frame: 40, receiveTime: 998000, renderTime: 0 }] }),
  resync: p.encodeResync(9, 42),
  want: p.encodeWant([hash(0), hash(16)]),
  control: p.encodeControl({ sequence: 11, time: 5000000 }, {
    move: [0.25, 1], look: [-0.5, 0], triggers: [0, 0.75], goto: [12.5, -3], view: [0.6, 0, -0.8],
    events: [{ number: 7, kind: 'press', name: 'jump' }, { number: 8, kind: 'release', name: 'jump' },
      { number: 9, kind: 'gesture', name: 'wave', parameters: { hand: 'left' } }],
    roots: [{ root: 'tail', clip: 'swing', speed: 1.5, weight: 0.5 }], activate: { biceps_l: 0.625 } }),
  sensor: p.encodeSensor({ sequence: 12, time: 5016000 }, 5015000,
    [{ name: 'head', tracked: true, position: [0, 1.7, 0], rotation: [0, 0, 0, 1] },
      { name: 'hand_l', position: [-0.25, 1, -0.5], velocity: [0, 0.5, 0] }],
    [{ side: 'left', curl: [0, 1, 0.5, 0.25, 0] }, { side: 'right', rotations: identity }]),
  face: p.encodeFace({ sequence: 13, time: 5020000 }, [[0, 0.5], [17, -1], [51, 1]]),
  customise: p.encodeCustomise({ sequence: 13, time: 5020000 }, [[0, 0.5], [17, -1], [51, 1]]),
  pose: p.encodePose({ sequence: 14, time: 5030000 }, { clip: 'Walk', time_s: 0.5, joints: {
    'humanoid:hips': { rotation: [0, 0.5, 0, 0.75], translation: [0, 1, 0] }, '#12': { scale: [1, 2, 1] } } }),
  place: p.encodePlace({ sequence: 15, time: 5050000 }, { position: [1, 0, -2], yaw: 1.5, scale: 1.25 }),
};
for (const [name, bytes] of Object.entries(sent)) expect(`${name} is encoded as in C`, same(bytes, bytesOf(name)));

// What a browser receives; every shorter payload is refused.
const received = {
  welcome: (x) => p.decodeWelcome(x), ping: (x) => p.decodePing(x), pong: (x) => p.decodePong(x),
  notice: (x) => p.decodeNote(x), actor: (x) => p.decodeActor(x), gone: (x) => p.decodeGone(x),
  catalogue: (x) => p.decodeCatalogue(x), surface: (x) => p.decodeSurface(x),
  appearance: (x) => p.decodeAppearance(x), texture: (x) => p.decodeTexture(x),
  frame: (x) => p.decodeFrame(x), applied: (x) => p.decodeApplied(x),
};
const values = {};
for (const [name, decode] of Object.entries(received)) {
  const payload = payloadOf(name);
  values[name] = decode(payload);
  for (let n = 0; n + 3 < payload.length; n++) {
    let refused = false;
    try { decode(payload.slice(0, n)); } catch (e) { refused = e instanceof p.WireError; }
    expect(`${name} cut to ${n} bytes is refused`, refused);
  }
}
expect('welcome', values.welcome.actor === 9 && values.welcome.tick === 123456789 && values.welcome.bindings['key:KeyE'] === 'wave');
expect('notice', values.notice.code === 3 && values.notice.text === 'back soon — bis gleich');
expect('actor', values.actor.own && values.actor.character === 'Fox' && values.actor.name === 'Ann');
expect('catalogue', values.catalogue.names.clips[1] === 'Run' && values.catalogue.clipSeconds[0] === 1.25);
expect('frame', values.frame.tick === 123456800 && values.frame.anchor === 40 && values.frame.payload.length === 8);
expect('applied', values.applied.entries[1].sequence === 15 && values.applied.entries[0].tick === 123456790);
expect('appearance', values.appearance.materials[1].name === 'fur' && values.appearance.materials[0].textures[0].sizeBytes === 4321);
const s = values.surface;
expect('surface', s.lods.length === 2 && s.lods[0].parts[1].topology === 1 && s.lods[0].parts[1].material === -1 &&
  [...s.lods[0].indices].join() === '0,1,2,2,1,3,4,5' && [...s.lods[1].vertices].join() === '0,1,3,4,5' &&
  s.uvs[0][11] === 3 && s.colors[0][11] === 128 && s.hash === '1122334455667788');
const clock = p.clockFrom({ id: 1, pingTime: 5000, receiveTime: 1005300, sendTime: 1005400 }, 5900);
expect('clock offset', clock.rtt === 800 && clock.offset === 999900);

// The stream.
const lines = readFileSync(`${golden}/stream.txt`, 'utf8').trim().split('\n');
const table = p.buildNormals();
let decoder, anchors, vertexCount = 0;
const got = [];
for (const m of new p.Inbox().take(bytesOf('stream'))) {
  if (m.type === p.Type.SURFACE) {
    const lod = p.decodeSurface(m.payload).lods[0];
    vertexCount = lod.vertexCount;
    decoder = new p.SurfaceDecoder(vertexCount, lod.predictors);
    anchors = new p.Anchors(vertexCount);
  }
  if (m.type !== p.Type.FRAME) continue;
  const f = p.decodeFrame(m.payload);
  if (f.codec === p.CODEC_RAW) {
    got.push(`${f.frame} ${fnv(f.payload)}`);
    continue;
  }
  const rows = anchors.spare(), anchor = anchors.find(f.anchor);
  if (f.flags & p.FRAME_STILL) {
    rows.position.set(anchor.position);
    rows.normal.set(anchor.normal);
  } else {
    decoder.decode(f.payload, f.bits, anchor, rows);
  }
  const both = new Uint8Array(vertexCount * 8), view = new DataView(both.buffer);
  for (let i = 0; i < vertexCount; i++) {
    for (let k = 0; k < 3; k++) view.setUint16(i * 8 + 2 * k, rows.position[3 * i + k], true);
    for (let k = 0; k < 2; k++) view.setInt8(i * 8 + 6 + k, rows.normal[2 * i + k]);
  }
  const positions = new Float32Array(vertexCount * 3), normals = new Int16Array(vertexCount * 4);
  p.writePositions(rows, f.origin, f.step, positions);
  p.writeNormals(rows, table, normals);
  got.push(`${f.frame} ${fnv(both)} ${fnv(raw(positions))} ${fnv(raw(normals))}`);
  if (f.flags & p.FRAME_ANCHOR) anchors.keep(f.frame, rows);
  else anchors.release(rows);
}
expect('as many frames', got.length === lines.length);
lines.forEach((line, i) => expect(`frame ${line} (here ${got[i]})`, line === got[i]));
console.log(failures ? `${failures} failures` : `ok   the twin agrees: ${Object.keys(sent).length} encoders, ${Object.keys(received).length} decoders, ${got.length} frames`);
process.exit(failures ? 1 : 0);
