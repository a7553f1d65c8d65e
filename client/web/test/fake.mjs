// A world of the tests' own: time that they move, sockets that they play the server on.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

export const p = await import(pathToFileURL(process.env.SINEW_CLIENT).href);
await p.zstdReady();
export const golden = (name) => new Uint8Array(readFileSync(`${process.env.SINEW_GOLDEN}/${name}.bin`));

export class FakeSocket {
  binaryType = '';
  protocol = 'sinew.v1';
  bufferedAmount = 0;
  onopen = null;
  onmessage = null;
  onclose = null;
  sent = []; // { type, payload }
  closed = null;
  send(bytes) {
    if (this.closed !== null) throw new Error('sent on a closed socket');
    this.sent.push(...new p.Inbox().take(bytes.slice()));
  }
  close(code = 1005) { this.closed = code; }
  give(...envelopes) {
    const bytes = Uint8Array.from(envelopes.flatMap((e) => [...e]));
    this.onmessage?.({ data: bytes.buffer });
  }
  drop(code = 1006) { this.onclose?.({ code, reason: '' }); }
  of(type) { return this.sent.filter((m) => m.type === type); }
  hello() {
    const r = new p.Reader(this.of(p.Type.HELLO)[0].payload);
    r.take(8);
    const size = r.u32();
    r.u32();
    return JSON.parse(p.decodeText(r.take(size)));
  }
}

export class FakeWorld {
  us = 1_000_000;
  chance = 0.5; // of random(): a factor of exactly 1 on back-off
  timers = [];
  sockets = [];
  now() { return this.us; }
  random() { return this.chance; }
  after(ms, step) {
    const timer = { at: this.us + ms * 1000, step };
    this.timers.push(timer);
    return timer;
  }
  stop(timer) { this.timers = this.timers.filter((t) => t !== timer); }
  open() {
    const socket = new FakeSocket();
    this.sockets.push(socket);
    return socket;
  }
  get socket() { return this.sockets.at(-1); }
  pass(ms) {
    const end = this.us + ms * 1000;
    for (;;) {
      const due = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.stop(due);
      this.us = Math.max(this.us, due.at);
      due.step();
    }
    this.us = end;
  }
}

export function welcome(members = {}) {
  const json = new TextEncoder().encode(JSON.stringify(
    { session: 's1', resume: 'token-1', resume_s: 30, actor: 9, character: 'Fox', ack_hz: 10, heartbeat_ms: 2000, ...members }));
  return p.envelope(p.Type.WELCOME, new p.Writer().u32(0x31574e53).u16(1).u16(0).u32(json.length).u32(0).put(json).align4().done());
}
export const bye = (code, retryMs = 0, text = '') =>
  p.encodeNote(p.Type.BYE, { code, messageType: 0, fatal: true, subject: 0, retryMs, text });

/** A client that has connected; `decoder` notes what it was given and plays the worker. */
export function joined(options = {}, reply = {}) {
  const world = new FakeWorld(), calls = [], seen = [];
  let sink;
  const client = new p.SinewClient({
    url: 'ws://server/v1/stream', world, ...options,
    decoder: (s) => {
      sink = s;
      return {
        surface: (payload) => calls.push(['surface', payload]), frame: (payload, time) => calls.push(['frame', payload, time]),
        gone: (actor) => calls.push(['gone', actor]), reset: () => calls.push(['reset']),
        recycle: (frame) => calls.push(['recycle', frame.frame]), inspect: async () => null, close: () => calls.push(['close']),
      };
    },
  });
  for (const name of ['state', 'welcome', 'actor', 'gone', 'notice', 'error', 'frame', 'texture']) {
    client.on(name, (value) => seen.push([name, value]));
  }
  client.connect();
  world.socket.onopen();
  if (reply !== null) world.socket.give(welcome(reply));
  const states = () => seen.filter(([name]) => name === 'state').map(([, s]) => s.state);
  return { client, world, calls, seen, states, sink, last: () => seen.filter(([n]) => n === 'state').at(-1)[1] };
}

export const frame = (n, members = {}) => ({
  scene: 1, actor: 9, model: 1, modelVersion: 1, tick: n, serverTime: 0, inputSequence: 0, frame: n, detail: 0, bits: 14,
  positions: new Float32Array(3), normals: new Int16Array(4), skipped: 0, receiveTime: 1000 * n, payloadBytes: 10, ...members,
});
