import { Reader, WireError } from './wire.js';
import { unzstd } from './zstd.js';

// SURFACE and the surface codec v1: the twin of proto/surface_message.h and proto/surface/. The
// same bits as the C decoder; tests/proto/twin.mjs compares them.

export const SURFACE_PARTS = 1, SURFACE_INDICES = 2, SURFACE_VERTICES = 3, SURFACE_PREDICTORS = 4,
  SURFACE_UVS = 5, SURFACE_COLORS = 6;

export interface Part {
  node: number; mesh: number; primitive: number;
  material: number; // into APPEARANCE, -1: none
  topology: number; // 0 triangles, 1 lines, 2 points
  sourceFirst: number; sourceCount: number; indexFirst: number; indexCount: number;
}
export interface Lod {
  vertexCount: number; indexCount: number; partCount: number; error: number;
  parts: Part[]; indices: Uint32Array; vertices: Uint32Array; predictors: Uint16Array;
}
export interface Surface {
  model: number; version: number; unitM: number; boxMin: number[]; boxMax: number[];
  hash: string; // of the content, hexadecimal
  lods: Lod[]; uvs: Float32Array[]; colors: Uint8Array[]; // of detail 0, by set
}

const wordsOf: Record<number, number> = { 1: 10, 2: 1, 3: 1, 4: 4, 5: 2, 6: 1 };

/** Undoes delta, zigzag and byte planes over elements of `words` 32-bit words. */
function restoreWords(planes: Uint8Array, count: number, words: number): Uint32Array {
  const out = new Uint32Array(count * words);
  for (let c = 0; c < words; c++) {
    let value = 0;
    for (let i = 0; i < count; i++) {
      let z = 0;
      for (let b = 0; b < 4; b++) z |= planes[(b * words + c) * count + i]! << (8 * b);
      value = (value + ((z >>> 1) ^ -(z & 1))) | 0;
      out[i * words + c] = value;
    }
  }
  return out;
}

function unpack(encoding: number, packed: Uint8Array, count: number, words: number): Uint32Array {
  const bytes = new Uint8Array(count * words * 4);
  if (encoding === 0) {
    if (packed.length !== bytes.length) throw new WireError('a section has the wrong size');
    bytes.set(packed);
  } else {
    unzstd(packed, bytes);
  }
  return encoding === 2 ? restoreWords(bytes, count, words) : new Uint32Array(bytes.buffer);
}

function below(values: Uint32Array, limit: number): Uint32Array {
  for (const value of values) if (value >= limit) throw new WireError('an index is out of range');
  return values;
}

export function predictorsValid(p: Uint16Array): boolean {
  for (let i = 0; i < p.length; i++) {
    const v = i >> 3;
    if (i & 7 ^ 7 ? p[i] === 0 || p[i]! > v + 1 : p[i] !== 0) return false;
  }
  return true;
}

function decodeParts(words: Uint32Array, lod: Lod, sourceCount: number): Part[] {
  const parts: Part[] = [];
  for (let i = 0; i < words.length; i += 10) {
    const p: Part = {
      node: words[i]!, mesh: words[i + 1]!, primitive: words[i + 2]!, material: words[i + 3]! | 0,
      topology: words[i + 4]!, sourceFirst: words[i + 5]!, sourceCount: words[i + 6]!,
      indexFirst: words[i + 7]!, indexCount: words[i + 8]!,
    };
    if (p.topology > 2 || p.indexFirst + p.indexCount > lod.indexCount ||
        p.sourceFirst + p.sourceCount > sourceCount || p.indexCount % (3 - p.topology) !== 0) {
      throw new WireError('a part is out of range');
    }
    parts.push(p);
  }
  return parts;
}

function readLods(r: Reader, count: number): Lod[] {
  if (count < 1 || count > 4) throw new WireError('wrong number of details');
  const lods: Lod[] = [];
  for (let i = 0; i < count; i++) {
    const lod = {
      vertexCount: r.u32(), indexCount: r.u32(), partCount: r.u32(), error: r.finite(), parts: [],
      indices: new Uint32Array(0), vertices: new Uint32Array(0), predictors: new Uint16Array(0),
    };
    if (lod.vertexCount > 1 << 20 || lod.indexCount > 6 << 20 || lod.partCount > 4096) {
      throw new WireError('the surface is too large');
    }
    lods.push(lod);
  }
  return lods;
}

export function decodeSurface(payload: Uint8Array): Surface {
  const r = new Reader(payload), model = r.u32(), version = r.u32();
  r.u32();
  const lodCount = r.u16(), sectionCount = r.u16(), unitM = r.finite();
  const boxMin = r.floats(3), boxMax = r.floats(3);
  r.u32();
  const hash = Array.from(r.take(8).slice().reverse(), (x) => x.toString(16).padStart(2, '0')).join('');
  const lods = readLods(r, lodCount), whole = lods[0]!.vertexCount;
  const s: Surface = { model, version, unitM, boxMin, boxMax, hash, lods, uvs: [], colors: [] };
  if (!(unitM > 0) || sectionCount > 64) throw new WireError('the surface contradicts itself');
  for (let i = 0; i < sectionCount; i++) {
    const kind = r.u8(), lodIndex = r.u8(), set = r.u8(), encoding = r.u8();
    const count = r.u32(), unpackedBytes = r.u32(), packed = r.take(r.u32());
    r.align4();
    const words = wordsOf[kind];
    if (!words) continue; // of a later version
    const lod = lods[lodIndex];
    if (!lod || encoding > 2) throw new WireError('a section is of no known kind');
    const expected = kind === SURFACE_PARTS ? lod.partCount : kind === SURFACE_INDICES ? lod.indexCount : lod.vertexCount;
    if (count !== expected || unpackedBytes !== count * words * 4 || set > 3) {
      throw new WireError('a section has the wrong size');
    }
    const data = unpack(encoding, packed, count, words);
    if (kind === SURFACE_PARTS) lod.parts = decodeParts(data, lod, whole);
    if (kind === SURFACE_INDICES) lod.indices = below(data, lod.vertexCount);
    if (kind === SURFACE_VERTICES) lod.vertices = below(data, whole);
    if (kind === SURFACE_PREDICTORS) {
      lod.predictors = new Uint16Array(data.buffer);
      if (!predictorsValid(lod.predictors)) throw new WireError('a predictor is out of range');
    }
    if (kind === SURFACE_UVS) s.uvs[set] = new Float32Array(data.buffer);
    if (kind === SURFACE_COLORS) s.colors[set] = new Uint8Array(data.buffer);
  }
  return s;
}

// ---- codec v1 ----

/** A frame on the grid, channel by channel. */
export interface Rows { position: Uint16Array; normal: Int8Array; } // 3 and 2 a vertex

export const rowsOf = (vertexCount: number): Rows =>
  ({ position: new Uint16Array(vertexCount * 3), normal: new Int8Array(vertexCount * 2) });

const PLANES = 8, MEAN = 0, PARALLELOGRAM = 1, STORED = 0, ZSTD = 1;

/** Decodes payloads of one detail; keeps its scratch, so that a frame allocates next to nothing. */
export class SurfaceDecoder {
  private readonly planes: Uint8Array;
  private readonly deltas: Int32Array[]; // a channel each; [0] is the row of zeros

  constructor(private readonly vertexCount: number, private readonly predictors: Uint16Array) {
    if (predictors.length !== vertexCount * 8 || !predictorsValid(predictors)) {
      throw new WireError('the predictors do not fit');
    }
    this.planes = new Uint8Array(vertexCount * PLANES);
    this.deltas = Array.from({ length: 5 }, () => new Int32Array(vertexCount + 1));
  }

  /** `anchor`: null for a key frame. Writes `out` (not the anchor); after a throw it is undefined. */
  decode(payload: Uint8Array, bits: number, anchor: Rows | null, out: Rows): void {
    if (payload.length < 4) throw new WireError('the payload ends early');
    const predictor = payload[0]!, mask = payload[1]!, packing = payload[2]!;
    if (predictor > PARALLELOGRAM || packing > ZSTD || payload[3] !== 0) {
      throw new WireError('the payload is malformed');
    }
    this.unpackPlanes(payload.subarray(4), mask, packing);
    this.restore(predictor);
    this.addAnchor(bits, anchor, out);
  }

  private unpackPlanes(packed: Uint8Array, mask: number, packing: number): void {
    const n = this.vertexCount, planes = this.planes;
    let kept = 0;
    for (let k = 0; k < PLANES; k++) kept += mask >> k & 1;
    const front = planes.subarray(0, kept * n);
    if (packing === STORED) {
      if (packed.length !== front.length) throw new WireError('the payload has the wrong size');
      front.set(packed);
    } else {
      unzstd(packed, front);
    }
    for (let k = PLANES - 1; k >= 0; k--) { // from the front to their places; the others are zero
      if (mask >> k & 1) planes.copyWithin(k * n, --kept * n, (kept + 1) * n);
      else planes.fill(0, k * n, (k + 1) * n);
    }
  }

  // Channels are taken one after the other: each loop is small, and its parents lie together.
  private restore(predictor: number): void {
    for (let k = 0; k < 5; k++) {
      const wrap = k < 3 ? 16 : 24; // positions are 16-bit numbers, normals bytes
      this.readResiduals(k);
      if (predictor === MEAN) this.addMeans(this.deltas[k]!, wrap);
      else this.addParallelograms(this.deltas[k]!, wrap);
    }
  }

  private readResiduals(k: number): void {
    const n = this.vertexCount, planes = this.planes, d = this.deltas[k]!;
    const low = (3 + k) * n, high = k < 3 ? k * n : -1;
    for (let i = 0; i < n; i++) {
      const z = high < 0 ? planes[low + i]! : planes[high + i]! << 8 | planes[low + i]!;
      d[i + 1] = z >> 1 ^ -(z & 1);
    }
  }

  private addMeans(d: Int32Array, wrap: number): void {
    const back = this.predictors;
    for (let i = 1, p = 0; i <= this.vertexCount; i++, p += 8) {
      const up = (d[i - back[p]!]! + d[i - back[p + 1]!]! + 1) >> 1;
      const down = (d[i - back[p + 2]!]! + d[i - back[p + 3]!]!) >> 1;
      d[i] = (d[i]! + ((up + down + 1) >> 1)) << wrap >> wrap;
    }
  }

  private addParallelograms(d: Int32Array, wrap: number): void {
    const back = this.predictors;
    for (let i = 1, p = 4; i <= this.vertexCount; i++, p += 8) {
      const guess = d[i - back[p]!]! + d[i - back[p + 1]!]! - d[i - back[p + 2]!]!;
      d[i] = (d[i]! + guess) << wrap >> wrap;
    }
  }

  private addAnchor(bits: number, anchor: Rows | null, out: Rows): void {
    const n = this.vertexCount;
    let seen = 0, wrong = 0;
    for (let k = 0; k < 3; k++) {
      const d = this.deltas[k]!, to = out.position, from = anchor?.position;
      for (let i = 0, at = k; i < n; i++, at += 3) {
        const value = (d[i + 1]! + (from ? from[at]! : 0)) & 0xffff;
        to[at] = value;
        seen |= value;
      }
    }
    for (let k = 0; k < 2; k++) {
      const d = this.deltas[3 + k]!, to = out.normal, from = anchor?.normal;
      for (let i = 0, at = k; i < n; i++, at += 2) {
        const value = (d[i + 1]! + (from ? from[at]! : 0)) << 24 >> 24;
        to[at] = value;
        wrong |= value === -128 ? 1 : 0;
      }
    }
    if (wrong || seen >> bits !== 0) throw new WireError('a vertex is off the grid');
  }
}

/** Unit normals of octahedral pairs as int16 (32767 = 1), by |u| * 128 + |v|; 4 numbers each. */
export function buildNormals(): Int16Array {
  const table = new Int16Array(128 * 128 * 4);
  for (let u = 0; u < 128; u++) {
    for (let v = 0; v < 128; v++) {
      const z = 127 - u - v, above = z >= 0;
      const xyz = [above ? u : 127 - v, above ? v : 127 - u, Math.abs(z)];
      const square = xyz[0]! ** 2 + xyz[1]! ** 2 + xyz[2]! ** 2;
      const length = Math.floor(Math.sqrt(square * 65536)); // exact: a whole number below 2^52
      for (let k = 0; k < 3; k++) {
        const value = Math.floor((xyz[k]! * (32767 * 256) + Math.floor(length / 2)) / length);
        table[(u * 128 + v) * 4 + k] = k === 2 && !above ? -value : value;
      }
    }
  }
  return table;
}

/** Positions as float triples: origin + step * integer, both rounded to 32 bits. */
export function writePositions(rows: Rows, origin: ArrayLike<number>, step: number, out: Float32Array): void {
  const from = rows.position, x = origin[0]!, y = origin[1]!, z = origin[2]!;
  for (let i = 0; i < from.length; i += 3) {
    out[i] = x + Math.fround(step * from[i]!);
    out[i + 1] = y + Math.fround(step * from[i + 1]!);
    out[i + 2] = z + Math.fround(step * from[i + 2]!);
  }
}

/** Normals as int16 quadruples (snorm, the fourth 0). */
export function writeNormals(rows: Rows, table: Int16Array, out: Int16Array): void {
  for (let i = 0, n = rows.normal.length / 2; i < n; i++) {
    const u = rows.normal[2 * i]!, v = rows.normal[2 * i + 1]!;
    const at = (Math.abs(u) * 128 + Math.abs(v)) * 4;
    out[4 * i] = u < 0 ? -table[at]! : table[at]!;
    out[4 * i + 1] = v < 0 ? -table[at + 1]! : table[at + 1]!;
    out[4 * i + 2] = table[at + 2]!;
    out[4 * i + 3] = 0;
  }
}

/** The anchors of one actor and detail: the newest four frames that were flagged as anchors. */
export class Anchors {
  private readonly kept = new Map<number, Rows>();
  private readonly free: Rows[] = [];

  constructor(private readonly vertexCount: number) {}
  find(frame: number): Rows | null { return this.kept.get(frame) ?? null; }
  clear(): void { this.free.push(...this.kept.values()); this.kept.clear(); }
  /** Memory for the next frame; give it back by keep or release. */
  spare(): Rows { return this.free.pop() ?? rowsOf(this.vertexCount); }
  release(rows: Rows): void { this.free.push(rows); }
  keep(frame: number, rows: Rows): void {
    this.kept.set(frame, rows);
    if (this.kept.size <= 4) return;
    const oldest = Math.min(...this.kept.keys());
    this.free.push(this.kept.get(oldest)!);
    this.kept.delete(oldest);
  }
}
