import { Reader, WireError, Writer } from './wire.js';

// Envelope and message numbers: the twin of proto/messages.h.

export const MAJOR = 1, MINOR = 0;
export const HEADER_BYTES = 8, PIECE_BYTES = 61440;
export const MORE = 1, CONTINUES = 2;

export const Type = {
  HELLO: 0x01, WELCOME: 0x02, PING: 0x03, PONG: 0x04, NOTICE: 0x05, ERROR: 0x06, BYE: 0x07,
  SETTINGS: 0x10, ACTOR: 0x11, GONE: 0x12, CATALOGUE: 0x13,
  SURFACE: 0x20, APPEARANCE: 0x21, TEXTURE: 0x22, BASIS: 0x23, WANT: 0x24,
  CONTROL: 0x40, SENSOR: 0x41, FACE: 0x42, CUSTOMISE: 0x43, POSE: 0x44, PLACE: 0x45,
  FRAME: 0x60, ACK: 0x61, RESYNC: 0x62, APPLIED: 0x63,
} as const;

const joinedMax: Record<number, number> = {
  [Type.WELCOME]: 262144, [Type.CATALOGUE]: 1048576, [Type.SURFACE]: 67108864,
  [Type.APPEARANCE]: 1048576, [Type.BASIS]: 33554432, [Type.FRAME]: 33554432,
};

export interface Message { type: number; payload: Uint8Array; }

/** A whole envelope around a payload of at most PIECE_BYTES (clients send no larger one). */
export function envelope(type: number, payload: Uint8Array): Uint8Array {
  if (payload.length > PIECE_BYTES) throw new WireError('the message is too large');
  return new Writer().u8(type).u8(0).u16(0).u32(payload.length).put(payload).align4().done();
}

/**
 * Takes what arrives (one WebSocket message: whole envelopes) and hands out whole messages, joined
 * from their pieces. Payloads of unsplit messages are views into what was given.
 */
export class Inbox {
  private readonly parts = new Map<number, { chunks: Uint8Array[]; size: number }>();

  *take(bytes: Uint8Array): Generator<Message> {
    let at = 0;
    while (at < bytes.length) {
      const r = new Reader(bytes.subarray(at));
      const type = r.u8(), flags = r.u8(), zero = r.u16(), size = r.u32();
      if (zero !== 0 || flags & ~(MORE | CONTINUES) || size > PIECE_BYTES) {
        throw new WireError('the envelope is malformed');
      }
      const payload = r.take(size);
      at += HEADER_BYTES + size + (-size & 3);
      const whole = this.join(type, flags, payload);
      if (whole) yield { type, payload: whole };
    }
    if (at !== bytes.length) throw new WireError('the message ends early');
  }

  private join(type: number, flags: number, payload: Uint8Array): Uint8Array | null {
    if (flags === 0) {
      this.parts.delete(type);
      return payload;
    }
    const held = flags & CONTINUES ? this.parts.get(type) : { chunks: [], size: 0 };
    if (!held) throw new WireError('a piece continues nothing');
    held.size += payload.length;
    if (held.size > (joinedMax[type] ?? PIECE_BYTES)) throw new WireError('the pieces are too large');
    held.chunks.push(payload.slice());
    if (flags & MORE) {
      this.parts.set(type, held);
      return null;
    }
    this.parts.delete(type);
    const whole = new Uint8Array(held.size);
    let at = 0;
    for (const chunk of held.chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return whole;
  }
}
