import * as proto from '../proto/index.js';
import type { Catalogue, Hello, Note, Quality, Welcome, Actor } from '../proto/session.js';
import type { Control, ControlEvent, Place, Pose } from '../proto/input.js';
import type { Material } from '../proto/appearance.js';
import type { Decoder, DecoderSink, Inspection, SurfaceFrame, Topology } from '../decode/decoder.js';
import { ServerClock } from './clock.js';
import { Code, endOfClose, endOfCode, type End } from './codes.js';
import { Emitter } from './emitter.js';
import { Textures } from './textures.js';

// One session with a server, over WebSocket. It joins, hands out decoded frames, sends input, and
// comes back by itself when the connection is lost.
//
//   idle ──connect──▶ connecting ──WELCOME──▶ open
//                        ▲   │                 │  connection lost, or an end that allows it
//                        │   └───────┐         │
//                     back-off ◀── waiting ◀───┘
//   any ──close(), or an end that forbids coming back──▶ closed

export type State = 'idle' | 'connecting' | 'open' | 'waiting' | 'closed';

export interface StateChange {
  state: State;
  end?: End; // why, of waiting and closed
  retryMs?: number; // of waiting: until the next attempt
  resumed?: boolean; // of open: the earlier session goes on
}

export interface Appearance { actor: number; version: number; materials: Material[]; }

export interface ClientEvents {
  state: StateChange;
  welcome: Welcome;
  actor: Actor;
  gone: { actor: number };
  catalogue: Catalogue;
  surface: Topology;
  appearance: Appearance;
  texture: { hash: string; mime: string; bytes: Uint8Array };
  frame: SurfaceFrame; // newest frame of an actor; give it back by recycle()
  notice: Note;
  error: Note; // an input or a setting that was refused
}

/** What the client needs of the world; tests bring their own. */
export interface World {
  now(): number; // microseconds, monotonic
  random(): number;
  after(ms: number, step: () => void): unknown;
  stop(timer: unknown): void;
  open(url: string): SocketLike;
}
export interface SocketLike {
  binaryType: string;
  readonly protocol: string;
  readonly bufferedAmount: number;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  send(bytes: Uint8Array): void;
  close(code?: number): void;
}

export interface ClientOptions {
  url: string; // ws://…/v1/stream or wss://…
  decoder: (sink: DecoderSink) => Decoder;
  hello?: Omit<Hello, 'resume' | 'last_frame' | 'recipe'>;
  recipe?: () => string | undefined; // asked for at every join: how the character is to look
  textures?: boolean; // ask for texture files; default true
  hasTexture?: (hash: string) => boolean; // files that the page holds already are not asked for
  world?: World;
}

export const browserWorld: World = {
  now: () => Math.round(performance.now() * 1000),
  random: Math.random,
  after: (ms, step) => setTimeout(step, ms),
  stop: (timer) => clearTimeout(timer as number),
  open: (url) => new WebSocket(url, 'sinew.v1') as unknown as SocketLike,
};

const HELLO_PATIENCE_MS = 8000, WATCH_MS = 250, PING_MS = 1000, BACKOFF_MS = [500, 4000] as const;
const EVENTS_MAX = 32, EVENTS_KEPT = 1024; // of one CONTROL; that wait for their turn
const AGAIN_MS = 100; // an event that no frame acknowledges is said again
const RESYNC_GAP_US = 250000; // four a second
const CAPABILITIES = ['zstd', 'lod', 'textures', 'resume', 'costs'];

interface Shown { frame: number; receiveTime: number; renderTime: number; tick: number; acked: boolean; }

export interface ClientCounters {
  bytes: number; // all that arrived, after WebSocket framing
  frames: number; framesSkipped: number; framesLost: number; reconnects: number;
}

export class SinewClient extends Emitter<ClientEvents> {
  readonly clock = new ServerClock();
  readonly counters: ClientCounters = { bytes: 0, frames: 0, framesSkipped: 0, framesLost: 0, reconnects: 0 };
  readonly actors = new Map<number, Actor>();
  state: State = 'idle';
  welcome: Welcome | null = null;
  catalogue: Catalogue | null = null;
  /** Microseconds from the newest answered input to the frame that shows it; 0: none yet. */
  inputLatency = 0;

  private readonly world: World;
  private readonly decoder: Decoder;
  private readonly textures: Textures;
  private hello: Hello;
  private socket: SocketLike | null = null;
  private inbox = new proto.Inbox();
  private timers: unknown[] = [];
  private retry: unknown = null;
  private attempts = 0;
  private end: End | null = null; // said by BYE
  private endRetryMs = 0;
  private resume: { token: string; until: number } | null = null;
  private lastHeard = 0;
  private lastLook = 0;
  private silentMs = 0;
  private pingId = 0;
  private sequence = 0;
  private sent = new Map<number, { time: number; event: number }>(); // by input sequence; newest event it carried
  private pending: ControlEvent[] = []; // not acknowledged yet: the first are in every CONTROL
  private carried = 0; // number of the last one that a CONTROL has carried
  private eventNumber = 0;
  private carriedAt = 0;
  private readonly shown = new Map<number, Shown>();
  private readonly lastResync = new Map<number, number>();
  private lasting: { control?: Control; pose?: Pose; place?: Place; face: Map<number, number>; customise: Map<number, number> } =
    { face: new Map(), customise: new Map() };

  constructor(private readonly options: ClientOptions) {
    super();
    this.world = options.world ?? browserWorld;
    this.hello = { client: 'sinew-web/0.1', capabilities: CAPABILITIES, ...options.hello };
    this.textures = new Textures(
      (hashes) => this.send(proto.encodeWant(hashes)),
      (hash, mime, bytes) => this.emit('texture', { hash, mime, bytes }),
      options.hasTexture ?? (() => false));
    this.decoder = options.decoder({
      onSurface: (topology) => this.emit('surface', topology),
      onFrame: (frame) => this.onFrame(frame),
      onAnchor: (actor, frame, receiveTime) => this.onAnchor(actor, frame, receiveTime),
      onLost: (actor, frame) => this.onLost(actor, frame),
      onBroken: (reason) => this.breakOff(reason),
    });
  }

  /** The own actor's id; 0: none. */
  get actor(): number { return this.welcome?.actor ?? 0; }
  get now(): number { return this.world.now(); }

  connect(): void {
    if (this.state === 'connecting' || this.state === 'open') return;
    this.world.stop(this.retry);
    this.end = null;
    this.endRetryMs = 0;
    this.inbox = new proto.Inbox();
    this.decoder.reset();
    this.textures.reset();
    this.change({ state: 'connecting' });
    const socket = this.world.open(this.options.url);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onopen = () => this.greet();
    socket.onmessage = ({ data }) => this.onMessage(socket, data);
    socket.onclose = ({ code }) => this.onClose(socket, code);
    this.lastHeard = this.now;
    this.timers.push(this.world.after(HELLO_PATIENCE_MS, () => {
      if (this.state === 'connecting') this.dropSocket(endOfCode(Code.TIMED_OUT!));
    }));
  }

  /** Ends the session for good. */
  close(): void {
    if (this.state === 'open') {
      this.send(proto.encodeNote(proto.Type.BYE,
        { code: 1, messageType: 0, fatal: true, subject: 0, retryMs: 0, text: '' }));
    }
    this.detach()?.close(1000);
    this.change({ state: 'closed', end: endOfCode(Code.NORMAL!) });
    this.decoder.close();
  }

  /** Tries at once when a retry waits: the network is back, or someone asked. */
  retryNow(): void { if (this.state === 'waiting') this.connect(); }

  /** Takes effect with the next join; `connect()` after it when the state is closed. */
  setCredentials(credentials: { token?: string; ticket?: string }): void {
    this.hello = { ...this.hello, token: undefined, ticket: undefined, ...credentials };
  }

  // ---- input; each returns the sequence of its message, 0 when there is no connection ----

  /** Holds until the next pose. */
  pose(pose: Pose): number {
    this.lasting.pose = pose;
    return this.input((head) => proto.encodePose(head, pose));
  }
  place(place: Place): number {
    this.lasting.place = { ...this.lasting.place, ...place };
    return this.input((head) => proto.encodePlace(head, place));
  }
  /** By name of a shape or an expression, or another name of theirs (ARKit's, VRM's, …); names that
   * the character does not have are left out. */
  face(weights: Record<string, number>): number {
    const values = this.faceIds(weights);
    return values.length ? this.input((head) => proto.encodeFace(head, values)) : 0;
  }
  customise(values: Record<string, number>): number {
    const names = this.catalogue?.names.parameters ?? [], ids: [number, number][] = [];
    for (const [name, value] of Object.entries(values)) if (names.includes(name)) ids.push([names.indexOf(name), value]);
    for (const [id, value] of ids) this.lasting.customise.set(id, value);
    return ids.length ? this.input((head) => proto.encodeCustomise(head, ids)) : 0;
  }
  /** States hold until another message sets them; events that wait ride along. */
  control(control: Omit<Control, 'events'>): number {
    const { roots, activate, goto, ...states } = control;
    this.lasting.control = { ...this.lasting.control, ...states };
    if (goto !== undefined) this.lasting.control.goto = goto ?? undefined;
    return this.sendControl(control);
  }
  /** Each happens once on the server, however often it has to be said. */
  press(name: string): void { this.event({ kind: 'press', name }); }
  release(name: string): void { this.event({ kind: 'release', name }); }
  gesture(name: string, parameters: object): void { this.event({ kind: 'gesture', name, parameters }); }
  settings(quality: Quality): void {
    this.hello = { ...this.hello, quality: { ...this.hello.quality, ...quality } };
    if (this.state === 'open') this.send(proto.encodeSettings(quality));
  }

  /** The frame has been drawn: goes into the next ACK. */
  rendered(frame: SurfaceFrame): void {
    const shown = this.shown.get(frame.actor);
    if (shown?.frame === frame.frame && shown.renderTime === 0) shown.renderTime = this.now;
  }
  /** Gives a frame's arrays back to the decoder, so that streaming allocates next to nothing. */
  recycle(frame: SurfaceFrame): void { this.decoder.recycle(frame); }
  inspect(actor = this.actor): Promise<Inspection | null> { return this.decoder.inspect(actor); }
  /** Asks for files by hash: each comes as `texture`, once. */
  want(hashes: string[]): void {
    this.textures.wantFiles(hashes);
  }

  wantTextures(materials: Material[]): void {
    if (this.options.textures !== false) this.textures.want(materials);
  }

  // ---- the connection ----

  private change(change: StateChange): void {
    this.state = change.state;
    this.emit('state', change);
  }

  private send(bytes: Uint8Array): void { this.socket?.send(bytes); }

  private greet(): void {
    if (this.resume && this.now > this.resume.until) this.resume = null;
    const hello = this.resume
      ? { ...this.hello, token: undefined, ticket: undefined, resume: this.resume.token }
      : { ...this.hello, recipe: this.options.recipe?.() };
    this.send(proto.encodeHello(hello));
  }

  private detach(): SocketLike | null {
    const socket = this.socket;
    if (socket) socket.onopen = socket.onmessage = socket.onclose = null;
    this.socket = null;
    for (const timer of this.timers) this.world.stop(timer);
    this.timers = [];
    this.world.stop(this.retry);
    return socket;
  }

  private dropSocket(end: End): void {
    this.detach()?.close();
    this.ended(end);
  }

  private breakOff(reason: string): void {
    if (!this.socket) return;
    // What cannot be decoded once may be fine in a new stream; what cannot be understood never is.
    this.dropSocket({ ...endOfCode(Code.PROTOCOL!), text: `The stream could not be read: ${reason}.`, back: true });
  }

  private onClose(socket: SocketLike, closeCode: number): void {
    if (socket !== this.socket) return;
    this.detach();
    this.ended(this.end ?? endOfClose(closeCode));
  }

  private ended(end: End): void {
    const expired = end.code === Code.RESUME_EXPIRED && this.resume !== null; // once: join anew at once
    if (end.code === Code.RESUME_EXPIRED || end.code === Code.VERSION_GONE) this.resume = null;
    if (!end.back) return this.change({ state: 'closed', end });
    const [first, most] = BACKOFF_MS;
    const base = expired ? 50 : this.endRetryMs || Math.min(most, first * 2 ** this.attempts);
    if (!this.endRetryMs && !expired) this.attempts++; // advice to wait is not one more failure
    // Never before the server asked for; else around the own guess, so that a crowd spreads.
    const retryMs = Math.round(base * (this.endRetryMs ? 1 + this.world.random() / 2 : 0.5 + this.world.random()));
    this.counters.reconnects++;
    this.retry = this.world.after(retryMs, () => this.connect());
    this.change({ state: 'waiting', end, retryMs });
  }

  private onMessage(socket: SocketLike, data: unknown): void {
    if (socket !== this.socket || !(data instanceof ArrayBuffer)) return;
    this.lastHeard = this.now;
    this.counters.bytes += data.byteLength;
    try {
      for (const message of this.inbox.take(new Uint8Array(data))) {
        this.take(message);
        if (socket !== this.socket) return;
      }
    } catch (e) {
      if (!(e instanceof proto.WireError)) throw e;
      this.breakOff(e.message);
    }
  }

  private take({ type, payload }: proto.Message): void {
    const T = proto.Type;
    switch (type) {
      case T.WELCOME: return this.onWelcome(proto.decodeWelcome(payload));
      case T.PING: {
        const ping = proto.decodePing(payload);
        return this.send(proto.encodePong(
          { id: ping.id, pingTime: ping.sendTime, receiveTime: this.lastHeard, sendTime: this.now }));
      }
      case T.PONG: return this.clock.take(proto.decodePong(payload), this.now);
      case T.NOTICE: return this.emit('notice', proto.decodeNote(payload));
      case T.ERROR: return this.onError(proto.decodeNote(payload));
      case T.BYE: return this.onBye(proto.decodeNote(payload));
      case T.ACTOR: return this.onActor(proto.decodeActor(payload));
      case T.GONE: return this.dropActor(proto.decodeGone(payload).actor);
      case T.CATALOGUE:
        this.catalogue = proto.decodeCatalogue(payload);
        return this.emit('catalogue', this.catalogue);
      // Copies: the decoder moves what it gets to its worker, and the message holds others too.
      case T.SURFACE: return this.decoder.surface(payload.slice());
      case T.FRAME: return this.decoder.frame(payload.slice(), this.lastHeard);
      case T.APPEARANCE: return this.onAppearance(proto.decodeAppearance(payload));
      case T.TEXTURE: return this.textures.take(proto.decodeTexture(payload));
    }
  }

  private onWelcome(welcome: Welcome): void {
    if (this.state !== 'connecting') throw new proto.WireError('WELCOME came twice');
    this.attempts = 0;
    this.welcome = welcome;
    this.resume = welcome.resume
      ? { token: welcome.resume, until: this.now + (welcome.resume_s ?? 30) * 1e6 } : null;
    this.clock.forget();
    this.silentMs = 0;
    this.shown.clear();
    if (!welcome.resumed) {
      this.sequence = this.eventNumber = this.carried = 0;
      this.sent.clear();
      for (const event of this.pending) event.number = ++this.eventNumber;
      for (const actor of [...this.actors.keys()]) this.dropActor(actor);
    }
    this.change({ state: 'open', resumed: welcome.resumed === true });
    this.emit('welcome', welcome);
    if (!welcome.resumed && this.actor) this.repeatInput();
    this.ping();
    this.every(1000 / (welcome.ack_hz ?? 10), () => this.ack());
    this.every(WATCH_MS, () => this.watch(welcome.heartbeat_ms ?? 5000));
    this.every(PING_MS, () => this.ping());
    this.every(AGAIN_MS, () => {
      if (this.pending.length && this.now - this.carriedAt >= AGAIN_MS * 1000) this.sendControl({});
    });
  }

  private every(ms: number, step: () => void): void {
    const place = this.timers.length;
    const turn = (): void => {
      this.timers[place] = this.world.after(ms, turn);
      step();
    };
    this.timers[place] = this.world.after(ms, turn);
  }

  private watch(heartbeatMs: number): void {
    if (this.resume) this.resume.until = this.now + (this.welcome?.resume_s ?? 30) * 1e6;
    // A page that was held up finds its timers due before the messages that came meanwhile: the
    // time between two looks counts no more than a look's own.
    this.silentMs = this.lastHeard >= this.lastLook ? 0 : this.silentMs + WATCH_MS;
    this.lastLook = this.now;
    if (this.silentMs > 3 * heartbeatMs) this.dropSocket(endOfCode(Code.TIMED_OUT!));
  }

  private ping(): void { this.send(proto.encodePing(++this.pingId, this.now)); }

  private onError(note: Note): void {
    if (note.fatal) this.onBye(note);
    else this.emit('error', note);
  }

  private onBye(note: Note): void {
    this.end = endOfCode(note.code, note.text);
    this.endRetryMs = note.retryMs;
    this.dropSocket(this.end);
  }

  // ---- the scene ----

  private onActor(actor: Actor): void {
    this.actors.set(actor.actor, actor);
    this.emit('actor', actor);
  }

  private dropActor(actor: number): void {
    if (!this.actors.delete(actor)) return;
    this.shown.delete(actor);
    this.decoder.gone(actor);
    this.emit('gone', { actor });
  }

  private onAppearance(appearance: Appearance): void {
    this.emit('appearance', appearance);
    this.wantTextures(appearance.materials);
  }

  private onFrame(frame: SurfaceFrame): void {
    if (!this.actors.has(frame.actor)) return this.decoder.recycle(frame); // it was on its way at GONE
    this.counters.frames++;
    this.counters.framesSkipped += frame.skipped;
    this.shown.set(frame.actor,
      { frame: frame.frame, receiveTime: frame.receiveTime, renderTime: 0, tick: frame.tick, acked: false });
    if (frame.actor === this.actor) this.measureInput(frame);
    this.emit('frame', frame);
  }

  private measureInput(frame: SurfaceFrame): void {
    const sent = this.sent.get(frame.inputSequence);
    if (!sent) return;
    this.inputLatency = frame.receiveTime - sent.time;
    // Only a message that carried an event says that it came.
    const waited = this.pending.length;
    this.pending = this.pending.filter(({ number }) => number > sent.event);
    if (this.pending.length < waited && (this.pending.at(-1)?.number ?? 0) > this.carried) this.sendControl({});
    for (const sequence of this.sent.keys()) if (sequence <= frame.inputSequence) this.sent.delete(sequence);
  }

  private onAnchor(actor: number, frame: number, receiveTime: number): void {
    if (this.state === 'open') this.sendAck([{ actor, frame, receiveTime, renderTime: 0 }]);
  }

  private onLost(actor: number, frame: number): void {
    this.counters.framesLost++;
    const last = this.lastResync.get(actor) ?? -Infinity;
    if (this.state !== 'open' || this.now - last < RESYNC_GAP_US) return;
    this.lastResync.set(actor, this.now);
    this.send(proto.encodeResync(actor, frame));
  }

  private ack(): void {
    const entries = [];
    for (const [actor, s] of this.shown) {
      if (entries.length < 64 && !(s.acked && s.renderTime === 0)) {
        entries.push({ actor, frame: s.frame, receiveTime: s.receiveTime, renderTime: s.renderTime });
      }
      s.acked = true;
    }
    if (entries.length) this.sendAck(entries);
  }

  private sendAck(entries: proto.AckEntry[]): void {
    this.send(proto.encodeAck({
      clientTime: this.now, offset: Math.round(this.clock.offset), rtt: Math.round(this.clock.rtt), queueCount: 0, entries,
    }));
  }

  // ---- input ----

  private input(encode: (head: proto.Head) => Uint8Array): number {
    if (this.state !== 'open') return 0;
    const head = { sequence: ++this.sequence, time: this.now };
    this.send(encode(head));
    this.sent.set(head.sequence, { time: head.time, event: 0 });
    if (this.sent.size > 256) this.sent.delete(this.sent.keys().next().value!);
    return head.sequence;
  }

  private event(event: Omit<ControlEvent, 'number'>): void {
    if (this.pending.length === EVENTS_KEPT) return; // nobody presses that much while nothing answers
    this.pending.push({ number: ++this.eventNumber, ...event });
    this.sendControl({});
  }

  private sendControl(control: Control): number {
    const events = this.pending.slice(0, EVENTS_MAX);
    const sequence = this.input((head) => proto.encodeControl(head, { ...control, events }));
    if (sequence && events.length) {
      this.sent.get(sequence)!.event = this.carried = events.at(-1)!.number;
      this.carriedAt = this.now;
    }
    return sequence;
  }

  private faceIds(weights: Record<string, number>): [number, number][] {
    const c = this.catalogue, ids: [number, number][] = [];
    const own = [...c?.names.shapes ?? [], ...c?.names.expressions ?? []]; // ids go on from one to the other
    for (const [name, weight] of Object.entries(weights)) {
      const id = own.indexOf(name);
      const parts = id >= 0 ? [[id, 1] as [number, number]] : c?.faceNames.get(name) ?? [];
      for (const [part, share] of parts) ids.push([part, weight * share]);
    }
    for (const [id, weight] of ids) this.lasting.face.set(id, weight);
    return ids;
  }

  /** A new session knows nothing of what the one before was told. */
  private repeatInput(): void {
    const { control, pose, place, face, customise } = this.lasting;
    if (control || this.pending.length) this.sendControl(control ?? {});
    if (pose) this.pose(pose);
    if (place) this.place(place);
    if (face.size) this.input((head) => proto.encodeFace(head, [...face]));
    if (customise.size) this.input((head) => proto.encodeCustomise(head, [...customise]));
  }
}
