import { Reader, WireError } from './wire.js';

// FRAME: the twin of proto/frame_message.h.

export const FRAME_KEY = 1, FRAME_ANCHOR = 2, FRAME_STILL = 4, FRAME_JUMP = 8;
export const CODEC_RAW = 0, CODEC_GRID = 1;

export interface Frame {
  scene: number; actor: number; model: number; modelVersion: number;
  tick: number; serverTime: number; inputSequence: number;
  frame: number; anchor: number; codec: number; bits: number; lod: number; flags: number;
  translation: number[]; rotation: number[]; scale: number; // model's unit; times unit_m: metres
  origin: number[]; step: number; vertexCount: number;
  payload: Uint8Array;
}

export function decodeFrame(payload: Uint8Array): Frame {
  const r = new Reader(payload);
  const f = {
    scene: r.u32(), actor: r.u32(), model: r.u32(), modelVersion: r.u32(),
    tick: r.u64(), serverTime: r.u64(), inputSequence: r.u32(),
    frame: r.u32(), anchor: r.u32(), codec: r.u8(), bits: r.u8(), lod: r.u8(), flags: r.u8(),
    translation: r.floats(3), rotation: r.floats(4), scale: r.finite(),
    origin: r.floats(3), step: r.finite(), vertexCount: r.u32(),
  };
  const body = r.take(r.u32());
  const norm = f.rotation.reduce((sum, x) => sum + x * x, 0);
  const key = (f.flags & FRAME_KEY) !== 0, still = (f.flags & FRAME_STILL) !== 0;
  if (!(norm > 0.98 && norm < 1.02) || !(f.scale > 0) || f.actor === 0 || f.frame === 0 ||
      key === (f.anchor !== 0) || f.anchor === f.frame || (still && (key || body.length > 0)) ||
      f.lod > 3 || f.vertexCount > 1 << 20 ||
      (f.codec === CODEC_GRID && (f.bits < 10 || f.bits > 16 || !(f.step > 0))) ||
      (f.codec === CODEC_RAW && !key && !still)) {
    throw new WireError('the frame contradicts itself');
  }
  return { ...f, payload: body };
}
