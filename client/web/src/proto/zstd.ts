import { ZSTDDecoder } from 'zstddec';
import { WireError } from './wire.js';

// zstddec (zstd itself as WebAssembly) takes 0.25 ms where the best decoder in plain JavaScript took
// 14. It loads itself from a data: address: a content security policy must allow
// script-src 'wasm-unsafe-eval' and connect-src data:.
const decoder = new ZSTDDecoder();

/** To be awaited once before anything packed is decoded. */
export const zstdReady = (): Promise<void> => decoder.init();

/** The content size a zstd frame declares (RFC 8878, 3.1.1.1), or -1. */
function declaredSize(packed: Uint8Array): number {
  if (packed.length < 6 || packed[0] !== 0x28 || packed[1] !== 0xb5 || packed[2] !== 0x2f || packed[3] !== 0xfd) return -1;
  const descriptor = packed[4]!, flag = descriptor >> 6, single = descriptor >> 5 & 1;
  const sizeBytes = flag === 0 ? single : 1 << flag;
  let at = 5 + (single ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!, size = flag === 1 ? 256 : 0, unit = 1;
  if (sizeBytes === 0 || at + sizeBytes > packed.length) return -1;
  for (let i = 0; i < sizeBytes; i++, at++, unit *= 256) size += packed[at]! * unit;
  return size;
}

/** Unpacks one frame of exactly out.length bytes; the declared size is looked at first. */
export function unzstd(packed: Uint8Array, out: Uint8Array): void {
  if (declaredSize(packed) !== out.length) throw new WireError('the packed size is wrong');
  if (out.length === 0) return;
  const bytes = decoder.decode(packed, out.length);
  if (bytes.length !== out.length) throw new WireError('the packed bytes are broken');
  out.set(bytes);
}
