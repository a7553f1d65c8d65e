import type { Material, TextureChunk } from '../proto/appearance.js';

// Texture files by hash: asked for once, joined from their stretches, kept by whoever shows them.

const WANT_MAX = 128, KTX2 = 'image/ktx2';

interface Loading { bytes: Uint8Array; filled: number; mime: string; }

const bytesOf = (hash: string): Uint8Array =>
  Uint8Array.from({ length: 16 }, (_, i) => parseInt(hash.slice(2 * i, 2 * i + 2), 16));

export class Textures {
  private readonly done = new Set<string>();
  private readonly asked = new Set<string>();
  private readonly loading = new Map<string, Loading>();

  constructor(private readonly ask: (hashes: Uint8Array[]) => void,
              private readonly give: (hash: string, mime: string, bytes: Uint8Array) => void,
              private readonly has: (hash: string) => boolean) {}

  want(materials: Material[]): void {
    this.wantFiles(materials.flatMap((m) => m.textures).flatMap((use) => use ? [use.hash] : []));
  }

  wantFiles(hashes: string[]): void {
    const missing: string[] = [];
    for (const hash of hashes) {
      if (this.has(hash) || this.done.has(hash) || this.asked.has(hash)) continue;
      this.asked.add(hash);
      missing.push(hash);
    }
    for (let i = 0; i < missing.length; i += WANT_MAX) this.ask(missing.slice(i, i + WANT_MAX).map(bytesOf));
  }

  take(chunk: TextureChunk): void {
    if (this.done.has(chunk.hash)) return;
    if (chunk.firstByte === 0) {
      this.loading.set(chunk.hash, { bytes: new Uint8Array(chunk.totalBytes), filled: 0, mime: chunk.mime });
    }
    const file = this.loading.get(chunk.hash);
    if (!file || file.filled !== chunk.firstByte) return; // a stretch of a file that began before
    file.bytes.set(chunk.bytes, chunk.firstByte);
    file.filled += chunk.bytes.length;
    if (file.filled < file.bytes.length) return;
    this.loading.delete(chunk.hash);
    this.done.add(chunk.hash);
    if (file.mime !== KTX2) this.give(chunk.hash, file.mime, file.bytes); // else the plain factor stays
  }

  /** On a new connection nothing is on its way any more. */
  reset(): void {
    this.asked.clear();
    this.loading.clear();
  }
}
