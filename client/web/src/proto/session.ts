import { decodeText, Reader, WireError, Writer } from './wire.js';
import { envelope, MAJOR, MINOR, Type } from './messages.js';

// HELLO, WELCOME and the small messages of a session: the twin of proto/hello.h and
// proto/session_messages.h. Times are microseconds of the sender's own monotonic clock.

const MAGIC = 0x31574e53; // "SNW1"

export interface Quality {
  bits?: number; rate_hz?: number; detail?: number; characters_max?: number; raw?: boolean;
}
export interface Hello {
  client?: string; role?: string; token?: string; ticket?: string; resume?: string;
  scene?: string; character?: string; name?: string; quality?: Quality; capabilities?: string[];
  last_frame?: number;
  recipe?: string; // JSON text: how the character is customised from its first frame on
}
export interface Welcome {
  major: number; minor: number;
  server?: string; session?: string; resume?: string; resume_s?: number;
  scene?: string; scene_id?: number; character?: string; actor?: number; tick_hz?: number;
  quality?: Quality; capabilities?: string[]; heartbeat_ms?: number; ack_hz?: number;
  tick?: number; server_time_us?: number; resumed?: boolean;
  bindings: unknown; // see input/bindings.ts; null when the server sent none
}

export function encodeHello(hello: Hello): Uint8Array {
  const { recipe, ...rest } = hello;
  const json = new TextEncoder().encode(JSON.stringify(rest)), more = new TextEncoder().encode(recipe ?? '');
  const w = new Writer().u32(MAGIC).u16(MAJOR).u16(MINOR).u32(json.length).u32(more.length);
  return envelope(Type.HELLO, w.put(json).align4().put(more).align4().done());
}

export function encodeSettings(quality: Quality): Uint8Array {
  return envelope(Type.SETTINGS, new TextEncoder().encode(JSON.stringify(quality)));
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decodeText(bytes)) as unknown;
  } catch {
    throw new WireError('the JSON part is broken');
  }
}

/** Throws with a line fit for people when the server speaks another major version. */
export function decodeWelcome(payload: Uint8Array): Welcome {
  const r = new Reader(payload);
  if (r.u32() !== MAGIC) throw new WireError('this is no peer of the sinew protocol');
  const major = r.u16(), minor = r.u16();
  if (major !== MAJOR) {
    throw new WireError(`the server speaks protocol version ${major}.${minor}, this page ${MAJOR}.${MINOR}`);
  }
  const jsonBytes = r.u32(), moreBytes = r.u32();
  const json = parseJson(r.take(jsonBytes));
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new WireError('the JSON part must be an object');
  }
  r.align4();
  const more = r.take(moreBytes);
  return { ...json, major, minor, bindings: more.length ? parseJson(more) : null };
}

export const encodePing = (id: number, sendTime: number): Uint8Array =>
  envelope(Type.PING, new Writer().u32(id).u32(0).u64(sendTime).done());

export function decodePing(payload: Uint8Array): { id: number; sendTime: number } {
  const r = new Reader(payload), id = r.u32();
  r.u32();
  return { id, sendTime: r.u64() };
}

export interface Pong { id: number; pingTime: number; receiveTime: number; sendTime: number; }

export const encodePong = (p: Pong): Uint8Array =>
  envelope(Type.PONG, new Writer().u32(p.id).u32(0).u64(p.pingTime).u64(p.receiveTime).u64(p.sendTime).done());

export function decodePong(payload: Uint8Array): Pong {
  const r = new Reader(payload), id = r.u32();
  r.u32();
  return { id, pingTime: r.u64(), receiveTime: r.u64(), sendTime: r.u64() };
}

/** offset: the peer's clock minus one's own; `now`: when the PONG came. */
export function clockFrom(p: Pong, now: number): { offset: number; rtt: number } {
  const rtt = now - p.pingTime - (p.sendTime - p.receiveTime);
  return { offset: (p.receiveTime - p.pingTime + (p.sendTime - now)) / 2, rtt: Math.max(0, rtt) };
}

export interface Note {
  code: number; messageType: number; fatal: boolean; subject: number; retryMs: number; text: string;
}

/** NOTICE, ERROR and BYE. */
export function decodeNote(payload: Uint8Array): Note {
  const r = new Reader(payload);
  const code = r.u16(), messageType = r.u8(), fatal = r.u8() !== 0;
  const subject = r.u32(), retryMs = r.u32();
  return { code, messageType, fatal, subject, retryMs, text: decodeText(r.take(r.u32())) };
}

export function encodeNote(type: number, n: Note): Uint8Array {
  const text = new TextEncoder().encode(n.text);
  const w = new Writer().u16(n.code).u8(n.messageType).u8(n.fatal ? 1 : 0).u32(n.subject);
  return envelope(type, w.u32(n.retryMs).u32(text.length).put(text).done());
}

export interface Actor {
  scene: number; actor: number; model: number; modelVersion: number;
  own: boolean; controlled: boolean; character: string;
  name: string; // of its player; '': none
}

export function decodeActor(payload: Uint8Array): Actor {
  const r = new Reader(payload);
  const scene = r.u32(), actor = r.u32(), model = r.u32(), modelVersion = r.u32(), flags = r.u32();
  return { scene, actor, model, modelVersion, own: (flags & 1) !== 0, controlled: (flags & 2) !== 0,
           character: r.text(), name: r.text() };
}

export function decodeGone(payload: Uint8Array): { scene: number; actor: number } {
  const r = new Reader(payload);
  return { scene: r.u32(), actor: r.u32() };
}

/** What customises the own actor: CUSTOMISE ids are places in the list. */
export interface Parameter {
  name: string; group: string; kind: 'shape' | 'appearance' | 'expression';
  low: number; high: number; neutral: number;
  options: string[]; // of a texture: the value is a place in them
}

function readParameters(names: string[], infos: unknown): Parameter[] {
  return names.map((name, i) => {
    const info: unknown = Array.isArray(infos) ? infos[i] : null;
    const [group, kind, low, high, neutral, options] = (Array.isArray(info) ? info : []) as unknown[];
    const number = (x: unknown, otherwise: number): number => typeof x === 'number' ? x : otherwise;
    return { name, group: typeof group === 'string' ? group : '',
      kind: kind === 'appearance' || kind === 'expression' ? kind : 'shape',
      low: number(low, 0), high: number(high, 1), neutral: number(neutral, 0),
      options: Array.isArray(options) ? options.filter((x): x is string => typeof x === 'string') : [] };
  });
}

/** Other names of shapes and expressions: [FACE id, share of the weight], one or several. */
function readFaceNames(json: unknown): Map<string, [number, number][]> {
  const names = new Map<string, [number, number][]>();
  for (const [name, parts] of Object.entries(typeof json === 'object' && json ? json : {})) {
    if (!Array.isArray(parts)) continue;
    names.set(name, parts.filter((p): p is [number, number] =>
      Array.isArray(p) && typeof p[0] === 'number' && typeof p[1] === 'number'));
  }
  return names;
}

/** The names that the own actor takes: clips, joints, shapes, parameters, roots, actions. */
export interface Catalogue {
  actor: number; names: Record<string, string[]>;
  parameters: Parameter[]; // one each of names.parameters
  faceNames: Map<string, [number, number][]>;
  clipSeconds: number[]; // one each of names.clips; empty when the server does not say
}

export function decodeCatalogue(payload: Uint8Array): Catalogue {
  const r = new Reader(payload), actor = r.u32();
  const json = (parseJson(r.take(r.u32())) ?? {}) as Record<string, unknown>;
  const names: Record<string, string[]> = {};
  for (const [key, value] of Object.entries(json)) {
    if (Array.isArray(value)) names[key] = value.filter((x): x is string => typeof x === 'string');
  }
  const seconds = json.clip_seconds;
  const clipSeconds = Array.isArray(seconds) ? seconds.filter((x): x is number => typeof x === 'number' && x >= 0) : [];
  if (clipSeconds.length !== (names.clips?.length ?? 0)) clipSeconds.length = 0;
  delete names.clip_seconds;
  delete names.parameter_info;
  return { actor, names, clipSeconds, parameters: readParameters(names.parameters ?? [], json.parameter_info),
           faceNames: readFaceNames(json.face_names) };
}

export interface AckEntry { actor: number; frame: number; receiveTime: number; renderTime: number; }

export function encodeAck(a: {
  clientTime: number; offset: number; rtt: number; queueCount: number; entries: AckEntry[];
}): Uint8Array {
  const w = new Writer().u64(a.clientTime).u64(a.offset).u32(a.rtt).u16(a.queueCount).u16(a.entries.length);
  for (const e of a.entries) w.u32(e.actor).u32(e.frame).u64(e.receiveTime).u64(e.renderTime);
  return envelope(Type.ACK, w.done());
}

export const encodeResync = (actor: number, frame: number): Uint8Array =>
  envelope(Type.RESYNC, new Writer().u32(actor).u32(frame).done());

/** Textures by their 16-byte hashes, at most 128 at once. */
export function encodeWant(hashes: Uint8Array[]): Uint8Array {
  const w = new Writer().u32(hashes.length);
  for (const hash of hashes) w.put(hash.subarray(0, 16));
  return envelope(Type.WANT, w.done());
}

export function decodeApplied(payload: Uint8Array): { actor: number; entries: { tick: number; sequence: number }[] } {
  const r = new Reader(payload), actor = r.u32(), count = r.u32(), entries = [];
  for (let i = 0; i < count; i++) {
    entries.push({ tick: r.u64(), sequence: r.u32() });
    r.u32();
  }
  return { actor, entries };
}
