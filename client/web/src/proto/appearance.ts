import { Reader, WireError } from './wire.js';

// APPEARANCE and TEXTURE: the twin of proto/appearance_message.h.

export interface TextureUse {
  hash: string; // 32 hexadecimal digits
  sizeBytes: number; uvSet: number; wrapS: number; wrapT: number; nearest: boolean;
  offset: number[]; scale: number[]; rotation: number; strength: number;
}
export interface Material {
  name: string; alpha: number; doubleSided: boolean; unlit: boolean;
  baseColor: number[]; emissive: number[]; metallic: number; roughness: number; alphaCutoff: number;
  /** base colour, metallic-roughness, normal, occlusion, emissive; null: none */
  textures: (TextureUse | null)[];
}

export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (x) => x.toString(16).padStart(2, '0')).join('');

function texture(r: Reader): TextureUse | null {
  const hash = hex(r.take(16));
  const use = {
    hash, sizeBytes: r.u32(), uvSet: r.u8(), wrapS: r.u8(), wrapT: r.u8(), nearest: r.u8() === 1,
    offset: r.floats(2), scale: r.floats(2), rotation: r.finite(), strength: r.finite(),
  };
  return /^0+$/.test(hash) ? null : use;
}

function material(r: Reader): Material {
  const baseColor = r.floats(4), emissive = r.floats(3);
  const metallic = r.finite(), roughness = r.finite(), alphaCutoff = r.finite();
  const alpha = r.u8(), flags = r.u8(), useCount = r.u8(), name = r.text();
  r.align4();
  const textures: (TextureUse | null)[] = [];
  for (let i = 0; i < useCount; i++) textures.push(texture(r));
  return {
    name, alpha, doubleSided: (flags & 1) !== 0, unlit: (flags & 2) !== 0, baseColor, emissive,
    metallic, roughness, alphaCutoff, textures,
  };
}

export function decodeAppearance(payload: Uint8Array): { actor: number; version: number; materials: Material[] } {
  const r = new Reader(payload), actor = r.u32(), version = r.u32(), count = r.u32();
  r.u32();
  if (count > 512) throw new WireError('too many materials');
  const materials: Material[] = [];
  for (let i = 0; i < count; i++) materials.push(material(r));
  return { actor, version, materials };
}

/** Of TEXTURE: no picture but a root's table, one byte a source vertex. */
export const SHARES = 'application/x-sinew-shares';

export interface TextureChunk { hash: string; totalBytes: number; firstByte: number; mime: string; bytes: Uint8Array; }

export function decodeTexture(payload: Uint8Array): TextureChunk {
  const r = new Reader(payload), hash = hex(r.take(16));
  const totalBytes = r.u32(), firstByte = r.u32(), size = r.u32();
  const mime = ['', 'image/png', 'image/jpeg', 'image/webp', 'image/ktx2', SHARES][r.u32()];
  if (!mime || totalBytes > 64 << 20 || firstByte + size > totalBytes) throw new WireError('the texture contradicts itself');
  return { hash, totalBytes, firstByte, mime, bytes: r.take(size) };
}
