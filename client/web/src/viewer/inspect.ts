import type { Performer } from './performer.js';

// What the end-to-end tests read: the very numbers that were decoded, so that they can be compared
// with the C decoder's.

interface Inspected { frame: number; inputSequence: number; rowsHash: string; positions: string; }

declare global {
  interface Window {
    sinewTest: {
      performers: Performer[];
      inspect(index: number): Promise<Inspected | null>;
      azimuth(): number; // of the camera, radians
    };
  }
}

function base64(values: Float32Array): string {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength), chunks: string[] = [];
  for (let i = 0; i < bytes.length; i += 8192) chunks.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
  return btoa(chunks.join(''));
}

export function exposeForTests(performers: Performer[], azimuth: () => number): void {
  window.sinewTest = {
    performers,
    azimuth,
    inspect: async (index) => {
      const seen = await performers[index]?.client.inspect();
      return seen ? { ...seen, positions: base64(seen.positions) } : null;
    },
  };
}
