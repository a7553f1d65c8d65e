import {
  Anchors, buildNormals, CODEC_RAW, decodeFrame, decodeSurface, FRAME_ANCHOR, FRAME_JUMP, FRAME_KEY,
  FRAME_STILL, SurfaceDecoder, WireError, writeNormals, writePositions, type Frame, type Rows,
  type Surface,
} from '../proto/index.js';
import type { DecoderSink, Inspection, SurfaceFrame, Topology } from './decoder.js';

// Payloads in, vertex arrays out. Of several frames of one actor that wait, only the newest is
// decoded, and those that are anchors: frames lean on anchors alone, never on each other.

interface Waiting { header: Frame; receiveTime: number; }
interface Line { // one actor at one detail
  anchors: Anchors;
  decoder: SurfaceDecoder;
  grid: string;
  last: { header: Frame; rows: Rows | null; positions: Float32Array | null; anchor: boolean } | null;
}

const SPARE_ARRAYS_MAX = 4;

export class Pipeline {
  private readonly surfaces = new Map<string, Surface>();
  private readonly lines = new Map<string, Line>();
  private readonly newest = new Map<number, Line>();
  private readonly spares = new Map<number, { positions: Float32Array; normals: Int16Array }[]>();
  private readonly normals = buildNormals();
  private waiting: Waiting[] = [];
  private skipped = new Map<number, number>();

  constructor(private readonly sink: DecoderSink, private readonly nowMs: () => number = () => performance.now()) {}

  surface(payload: Uint8Array): void {
    this.run(); // frames that came before belong to the surface before
    const s = decodeSurface(payload);
    this.surfaces.set(`${s.model}.${s.version}`, s);
    for (const [key, line] of this.lines) {
      if (line.last?.header.model === s.model) this.lines.delete(key);
    }
    this.sink.onSurface(topologyOf(s));
  }

  frame(payload: Uint8Array, receiveTime: number): void {
    this.waiting.push({ header: decodeFrame(payload), receiveTime });
  }

  /** Decodes what waits. */
  run(): void {
    const waiting = this.waiting, last = new Map<number, Waiting>();
    this.waiting = [];
    for (const w of waiting) last.set(w.header.actor, w);
    for (const w of waiting) {
      const shown = last.get(w.header.actor) === w;
      if (!shown) this.skipped.set(w.header.actor, (this.skipped.get(w.header.actor) ?? 0) + 1);
      if (shown || w.header.flags & FRAME_ANCHOR) this.decode(w, shown);
    }
  }

  gone(actor: number): void {
    this.waiting = this.waiting.filter((w) => w.header.actor !== actor);
    for (const key of this.lines.keys()) if (key.startsWith(`${actor}.`)) this.lines.delete(key);
    this.newest.delete(actor);
  }

  reset(): void {
    this.waiting = [];
    this.lines.clear();
    this.newest.clear();
    this.surfaces.clear();
  }

  recycle(positions: Float32Array, normals: Int16Array): void {
    const list = this.spares.get(positions.length) ?? [];
    this.spares.set(positions.length, list);
    if (list.length < SPARE_ARRAYS_MAX) list.push({ positions, normals });
  }

  inspect(actor: number): Inspection | null {
    this.run();
    const last = this.newest.get(actor)?.last;
    if (!last) return null;
    const h = last.header, surface = this.surfaces.get(`${h.model}.${h.modelVersion}`)!;
    const values = last.positions ?? new Float32Array(h.vertexCount * 3);
    if (last.rows) writePositions(last.rows, h.origin, h.step, values);
    return {
      frame: h.frame, inputSequence: h.inputSequence, still: (h.flags & FRAME_STILL) !== 0,
      rowsHash: last.rows ? fnv([last.rows.position, last.rows.normal]) : fnv([values]),
      positions: inSourceOrder(values, surface, h.lod),
    };
  }

  private decode(w: Waiting, shown: boolean): void {
    const h = w.header, started = this.nowMs();
    try {
      const surface = this.surfaces.get(`${h.model}.${h.modelVersion}`), lod = surface?.lods[h.lod];
      if (!surface || !lod || lod.vertexCount !== h.vertexCount) throw new WireError('no such surface');
      const line = this.lineOf(h, lod.predictors);
      if (h.codec === CODEC_RAW) this.takeRaw(line, h, shown, w, started);
      else this.takeGrid(line, h, shown, w, started);
    } catch (e) {
      if (!(e instanceof WireError)) throw e;
      this.sink.onLost(h.actor, h.frame);
    }
  }

  private lineOf(h: Frame, predictors: Uint16Array): Line {
    const key = `${h.actor}.${h.lod}.${h.model}.${h.modelVersion}`;
    const line = this.lines.get(key) ??
      { anchors: new Anchors(h.vertexCount), decoder: new SurfaceDecoder(h.vertexCount, predictors), grid: '', last: null };
    this.lines.set(key, line);
    return line;
  }

  private takeGrid(line: Line, h: Frame, shown: boolean, w: Waiting, started: number): void {
    const grid = `${h.origin.join()},${h.step},${h.bits}`;
    if (h.flags & FRAME_KEY && grid !== line.grid) line.anchors.clear();
    const anchor = h.anchor ? line.anchors.find(h.anchor) : null;
    if (h.anchor && (!anchor || grid !== line.grid)) throw new WireError('the anchor is missing');
    const rows = line.anchors.spare();
    if (h.flags & FRAME_STILL) {
      rows.position.set(anchor!.position);
      rows.normal.set(anchor!.normal);
    } else {
      line.decoder.decode(h.payload, h.bits, anchor, rows);
    }
    line.grid = grid;
    if (line.last?.rows && !line.last.anchor) line.anchors.release(line.last.rows);
    line.last = null;
    if (h.flags & FRAME_ANCHOR) {
      line.anchors.keep(h.frame, rows);
      this.sink.onAnchor(h.actor, h.frame, w.receiveTime);
    }
    if (!shown) return;
    const out = this.arrays(h.vertexCount);
    writePositions(rows, h.origin, h.step, out.positions);
    writeNormals(rows, this.normals, out.normals);
    this.give(line, h, rows, out, w, started);
  }

  private takeRaw(line: Line, h: Frame, shown: boolean, w: Waiting, started: number): void {
    if (h.flags & FRAME_STILL || h.payload.length !== h.vertexCount * 24) throw new WireError('the raw frame has the wrong size');
    if (!shown) return;
    const out = this.arrays(h.vertexCount);
    const view = new DataView(h.payload.buffer, h.payload.byteOffset, h.payload.byteLength);
    for (let i = 0; i < h.vertexCount; i++) {
      for (let k = 0; k < 3; k++) {
        out.positions[3 * i + k] = view.getFloat32(24 * i + 4 * k, true);
        out.normals[4 * i + k] = Math.round(view.getFloat32(24 * i + 12 + 4 * k, true) * 32767);
      }
    }
    this.give(line, h, null, out, w, started);
  }

  private give(line: Line, h: Frame, rows: Rows | null, out: { positions: Float32Array; normals: Int16Array },
               w: Waiting, started: number): void {
    line.last = { header: h, rows, positions: rows ? null : out.positions.slice(), anchor: (h.flags & FRAME_ANCHOR) !== 0 };
    this.newest.set(h.actor, line);
    const bounds = boundsOf(out.positions);
    const frame: SurfaceFrame = {
      scene: h.scene, actor: h.actor, model: h.model, modelVersion: h.modelVersion, tick: h.tick,
      serverTime: h.serverTime, inputSequence: h.inputSequence, frame: h.frame, detail: h.lod, bits: h.bits,
      still: (h.flags & FRAME_STILL) !== 0, jump: (h.flags & FRAME_JUMP) !== 0, key: (h.flags & FRAME_KEY) !== 0,
      translation: h.translation, rotation: h.rotation, scale: h.scale, origin: h.origin, step: h.step,
      ...out, ...bounds, payloadBytes: h.payload.length, receiveTime: w.receiveTime,
      skipped: this.skipped.get(h.actor) ?? 0, decodeMs: this.nowMs() - started,
    };
    this.skipped.delete(h.actor);
    this.sink.onFrame(frame);
  }

  private arrays(vertexCount: number): { positions: Float32Array; normals: Int16Array } {
    return this.spares.get(vertexCount * 3)?.pop() ??
      { positions: new Float32Array(vertexCount * 3), normals: new Int16Array(vertexCount * 4) };
  }
}

function topologyOf(s: Surface): Topology {
  return {
    model: s.model, version: s.version, unitM: s.unitM, boxMin: s.boxMin, boxMax: s.boxMax, hash: s.hash,
    details: s.lods.map((l) => ({ vertexCount: l.vertexCount, parts: l.parts, indices: l.indices, sources: l.vertices })),
    uvs: s.uvs, colors: s.colors,
  };
}

function boundsOf(p: Float32Array): { boundsMin: number[]; boundsMax: number[] } {
  let x0 = Infinity, y0 = Infinity, z0 = Infinity, x1 = -Infinity, y1 = -Infinity, z1 = -Infinity;
  for (let i = 0; i < p.length; i += 3) {
    const x = p[i]!, y = p[i + 1]!, z = p[i + 2]!;
    if (x < x0) x0 = x;
    if (x > x1) x1 = x;
    if (y < y0) y0 = y;
    if (y > y1) y1 = y;
    if (z < z0) z0 = z;
    if (z > z1) z1 = z;
  }
  return { boundsMin: [x0, y0, z0], boundsMax: [x1, y1, z1] };
}

function inSourceOrder(values: Float32Array, surface: Surface, lod: number): Float32Array {
  if (lod !== 0) return values; // coarser details do not hold every source vertex
  const out = new Float32Array(values.length), to = surface.lods[0]!.vertices;
  for (let i = 0; i < to.length; i++) out.set(values.subarray(3 * i, 3 * i + 3), 3 * to[i]!);
  return out;
}

function fnv(arrays: (Uint16Array | Int8Array | Float32Array)[]): string {
  let hash = 2166136261;
  for (const a of arrays) {
    for (const byte of new Uint8Array(a.buffer, a.byteOffset, a.byteLength)) hash = Math.imul(hash ^ byte, 16777619);
  }
  return (hash >>> 0).toString(16).padStart(8, '0');
}
