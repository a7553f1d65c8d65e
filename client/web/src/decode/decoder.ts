import type { Material } from '../proto/appearance.js';
import type { Part } from '../proto/surface.js';

// What decoding gives, and who does it: a worker in pages (WorkerDecoder), the same thread in tests.

/** One detail of a surface, ready for the graphics card. */
export interface DetailTopology {
  vertexCount: number;
  parts: Part[];
  indices: Uint32Array;
  sources: Uint32Array; // detail 0: the source vertex; others: a vertex of detail 0
}
export interface Topology {
  model: number; version: number; unitM: number;
  boxMin: number[]; boxMax: number[]; // of the rest surface, model space
  hash: string;
  details: DetailTopology[];
  uvs: Float32Array[]; // by set, of detail 0
  colors: Uint8Array[]; // by set, of detail 0; RGBA, linear
}

/** A decoded frame. Its arrays may be given back by `recycle` once nothing reads them. */
export interface SurfaceFrame {
  scene: number; actor: number; model: number; modelVersion: number;
  tick: number; serverTime: number; inputSequence: number;
  frame: number; detail: number; bits: number; still: boolean; jump: boolean; key: boolean;
  translation: number[]; rotation: number[]; scale: number;
  origin: number[]; step: number;
  positions: Float32Array; // x y z, model space
  normals: Int16Array; // x y z 0, 32767 is 1
  boundsMin: number[]; boundsMax: number[]; // of the positions
  payloadBytes: number; receiveTime: number; skipped: number; decodeMs: number;
}

export interface DecoderSink {
  onSurface(topology: Topology): void;
  onFrame(frame: SurfaceFrame): void;
  /** The frame is decoded and kept as an anchor: the server may code against it once it knows. */
  onAnchor(actor: number, frame: number, receiveTime: number): void;
  /** The frame cannot be used; RESYNC. */
  onLost(actor: number, frame: number): void;
  onBroken(reason: string): void;
}

export interface Decoder {
  /** Payloads of SURFACE and FRAME, which the decoder may keep; in the order of arrival. */
  surface(payload: Uint8Array): void;
  frame(payload: Uint8Array, receiveTime: number): void;
  gone(actor: number): void;
  reset(): void;
  recycle(frame: SurfaceFrame): void;
  /** For tests: FNV-1a of the newest frame's integers, and its positions in source order. */
  inspect(actor: number): Promise<Inspection | null>;
  close(): void;
}

export interface Inspection {
  frame: number; inputSequence: number; still: boolean;
  rowsHash: string; positions: Float32Array; // source order
}

export type { Material };
