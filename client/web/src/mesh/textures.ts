import * as THREE from 'three';
import type { TextureUse } from '../proto/appearance.js';

// Decoded images by hash, shared by all meshes of a page, and three.js textures made of them.

const wraps = [THREE.RepeatWrapping, THREE.ClampToEdgeWrapping, THREE.MirroredRepeatWrapping] as const;
const ANISOTROPY = 8;

export class TextureStore {
  private readonly sources = new Map<string, THREE.TextureSource<ImageBitmap>>();
  private readonly waiting = new Map<string, (() => void)[]>();

  has(hash: string): boolean { return this.sources.has(hash); }

  /** Takes a file that the server sent. A broken image stays away: the plain factor is shown. */
  async add(hash: string, mime: string, bytes: Uint8Array): Promise<void> {
    if (this.sources.has(hash)) return;
    const file = new Blob([bytes as Uint8Array<ArrayBuffer>], { type: mime });
    const image = await createImageBitmap(file, { premultiplyAlpha: 'none', colorSpaceConversion: 'none' })
      .catch(() => null);
    if (!image || this.sources.has(hash)) return;
    this.sources.set(hash, new THREE.TextureSource(image));
    for (const ready of this.waiting.get(hash) ?? []) ready();
    this.waiting.delete(hash);
  }

  /** Calls `ready` with a texture, now or when the file has come. The receiver disposes of it. */
  request(use: TextureUse, colour: boolean, ready: (texture: THREE.Texture) => void): void {
    const give = (): void => ready(this.make(use, colour));
    if (this.sources.has(use.hash)) return give();
    this.waiting.set(use.hash, [...(this.waiting.get(use.hash) ?? []), give]);
  }

  private make(use: TextureUse, colour: boolean): THREE.Texture {
    const t = new THREE.Texture();
    t.source = this.sources.get(use.hash)!;
    t.flipY = false; // glTF's orientation
    t.colorSpace = colour ? THREE.SRGBColorSpace : THREE.NoColorSpace;
    t.channel = Math.min(use.uvSet, 3);
    t.wrapS = wraps[use.wrapS] ?? THREE.RepeatWrapping;
    t.wrapT = wraps[use.wrapT] ?? THREE.RepeatWrapping;
    t.magFilter = use.nearest ? THREE.NearestFilter : THREE.LinearFilter;
    t.minFilter = use.nearest ? THREE.NearestMipmapLinearFilter : THREE.LinearMipmapLinearFilter;
    t.anisotropy = ANISOTROPY;
    t.offset.fromArray(use.offset);
    t.repeat.fromArray(use.scale);
    t.rotation = use.rotation;
    t.needsUpdate = true;
    return t;
  }
}
