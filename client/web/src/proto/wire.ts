// Little-endian cursors over bytes, as proto/wire.h. A reader throws WireError on what is not there
// or not allowed; decoders therefore give a whole value or nothing.

export class WireError extends Error {}

export class Reader {
  private at = 0;
  private readonly view: DataView;
  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  private step(count: number): number {
    if (this.bytes.length - this.at < count) throw new WireError('the message ends early');
    const at = this.at;
    this.at += count;
    return at;
  }
  u8(): number { return this.view.getUint8(this.step(1)); }
  u16(): number { return this.view.getUint16(this.step(2), true); }
  u32(): number { return this.view.getUint32(this.step(4), true); }
  /** Exact up to 2^53: ticks and microseconds stay far below. */
  u64(): number {
    const at = this.step(8);
    return this.view.getUint32(at + 4, true) * 4294967296 + this.view.getUint32(at, true);
  }
  f32(): number { return this.view.getFloat32(this.step(4), true); }
  floats(count: number): number[] { return Array.from({ length: count }, () => this.finite()); }
  finite(): number {
    const value = this.f32();
    if (!Number.isFinite(value)) throw new WireError('a number is not finite');
    return value;
  }
  take(count: number): Uint8Array {
    const at = this.step(count);
    return this.bytes.subarray(at, at + count);
  }
  text(): string { return decodeText(this.take(this.u8())); }
  align4(): void { this.step(-this.at & 3); }
  left(): number { return this.bytes.length - this.at; }
}

export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new WireError('text is not UTF-8');
  }
}

export class Writer {
  private bytes = new Uint8Array(256);
  private view = new DataView(this.bytes.buffer);
  private at = 0;
  private room(count: number): number {
    if (this.at + count > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.bytes.length * 2, this.at + count));
      larger.set(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    const at = this.at;
    this.at += count;
    return at;
  }
  // room() may exchange the view: it comes first, in a statement of its own.
  u8(value: number): this {
    const at = this.room(1);
    this.view.setUint8(at, value);
    return this;
  }
  u16(value: number): this {
    const at = this.room(2);
    this.view.setUint16(at, value, true);
    return this;
  }
  u32(value: number): this {
    const at = this.room(4);
    this.view.setUint32(at, value >>> 0, true);
    return this;
  }
  /** Whole numbers, negative ones too (two's complement), exact up to 2^53. */
  u64(value: number): this {
    const at = this.room(8), high = Math.floor(value / 4294967296);
    this.view.setUint32(at, (value - high * 4294967296) >>> 0, true);
    this.view.setUint32(at + 4, high >>> 0, true);
    return this;
  }
  f32(value: number): this {
    const at = this.room(4);
    this.view.setFloat32(at, value, true);
    return this;
  }
  floats(values: ArrayLike<number>, count: number): this {
    for (let i = 0; i < count; i++) this.f32(values[i] ?? 0);
    return this;
  }
  put(bytes: Uint8Array): this {
    const at = this.room(bytes.length);
    this.bytes.set(bytes, at);
    return this;
  }
  text(text: string): this {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length > 63) throw new WireError('a name is longer than 63 bytes');
    return this.u8(bytes.length).put(bytes);
  }
  align4(): this {
    while (this.at % 4) this.u8(0);
    return this;
  }
  done(): Uint8Array { return this.bytes.slice(0, this.at); }
}
