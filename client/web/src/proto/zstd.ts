import { decompress } from 'fzstd';
import { WireError } from './wire.js';

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
  try {
    if (out.length) decompress(packed, out);
  } catch {
    throw new WireError('the packed bytes are broken');
  }
}
