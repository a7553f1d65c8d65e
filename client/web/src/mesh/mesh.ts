import * as THREE from 'three';
import type { Material } from '../proto/appearance.js';
import type { SurfaceFrame, Topology } from '../decode/decoder.js';
import { disposeMaterial, makeMaterial, plain } from './materials.js';
import type { TextureStore } from './textures.js';

// One character in a three.js scene, fed by decoded frames. Metres, +Y up. Frames are kept until
// `update` is called in the animation frame: only the newest is uploaded, into one of two sets of
// buffers in turn, so that the graphics card never waits for those it still draws from.

interface Uploads { position: THREE.BufferAttribute; normal: THREE.BufferAttribute; frame: SurfaceFrame | null; }
interface Detail { color: THREE.BufferAttribute | null; geometries: { topology: number; geometry: THREE.BufferGeometry; materials: number[] }[]; uploads: [Uploads, Uploads]; turn: number; }

export class SinewMesh extends THREE.Group {
  /** Of the drawn surface, in the space of the mesh's parent; empty until the first frame. */
  readonly bounds = new THREE.Box3();
  frame: SurfaceFrame | null = null; // the drawn one
  private readonly body = new THREE.Group(); // model space
  private readonly details = new Map<number, Detail>();
  private shownDetail = -1;
  private topology: Topology | null = null;
  private looks: Material[] = [];
  private materials = new Map<string, THREE.Material>();
  private next: SurfaceFrame | null = null;
  private shares: Uint8Array | null = null; // painted on the surface instead of its materials

  /** `recycle` takes frames whose arrays nothing reads any more. */
  constructor(private readonly store: TextureStore, private readonly recycle: (frame: SurfaceFrame) => void = () => {}) {
    super();
    this.add(this.body);
  }

  /** The same one again (a resumed session sends it anew) leaves the picture as it is. */
  setTopology(topology: Topology): void {
    const old = this.topology;
    if (old?.hash !== topology.hash || old.version !== topology.version || old.model !== topology.model) this.clearDetails();
    this.topology = topology;
  }

  setAppearance(materials: Material[]): void {
    this.looks = materials;
    const old = this.materials;
    this.materials = new Map();
    if (this.shownDetail >= 0) this.show(this.shownDetail);
    for (const material of old.values()) disposeMaterial(material);
  }

  /** Shows a table, one byte a source vertex, as colour in place of the materials; null: no more. */
  paint(shares: Uint8Array | null): void {
    this.shares = shares;
    for (const [index, detail] of this.details) this.color(index, detail);
    if (this.shownDetail >= 0) this.show(this.shownDetail);
  }

  /** The newest frame; returns whether an earlier one was never drawn. */
  setFrame(frame: SurfaceFrame): boolean {
    const unseen = this.next;
    if (unseen) this.recycle(unseen);
    this.next = frame;
    return unseen !== null;
  }

  /** To be called in the animation frame. Returns the frame that is new on the screen, if one is. */
  update(): SurfaceFrame | null {
    const frame = this.next, topology = this.topology;
    this.next = null;
    if (!frame) return null;
    if (!topology || topology.model !== frame.model || topology.version !== frame.modelVersion) {
      this.recycle(frame);
      return null;
    }
    const detail = this.detail(frame.detail, topology);
    detail.turn ^= 1;
    const to = detail.uploads[detail.turn as 0 | 1];
    if (to.frame) this.recycle(to.frame);
    to.frame = frame;
    to.position.array = frame.positions;
    to.normal.array = frame.normals;
    to.position.needsUpdate = to.normal.needsUpdate = true;
    for (const { geometry } of detail.geometries) {
      geometry.setAttribute('position', to.position);
      geometry.setAttribute('normal', to.normal);
    }
    if (this.shownDetail !== frame.detail) this.show(frame.detail);
    this.move(frame, topology.unitM);
    this.frame = frame;
    return frame;
  }

  dispose(): void {
    this.clearDetails();
    for (const material of this.materials.values()) disposeMaterial(material);
    this.materials.clear();
    if (this.next) this.recycle(this.next);
    this.next = null;
    this.removeFromParent();
  }

  private move(f: SurfaceFrame, unitM: number): void {
    this.body.scale.setScalar(f.scale * unitM);
    this.body.quaternion.fromArray(f.rotation);
    this.body.position.fromArray(f.translation).multiplyScalar(unitM);
    this.body.updateMatrix();
    this.bounds.min.fromArray(f.boundsMin);
    this.bounds.max.fromArray(f.boundsMax);
    this.bounds.applyMatrix4(this.body.matrix).applyMatrix4(this.matrix);
  }

  private detail(index: number, topology: Topology): Detail {
    const known = this.details.get(index);
    if (known) return known;
    const made = buildDetail(topology, index);
    this.details.set(index, made);
    if (this.shares) this.color(index, made);
    return made;
  }

  private color(index: number, detail: Detail): void {
    const color = this.shares ? new THREE.BufferAttribute(ramp(this.topology!, index, this.shares), 3, true) : detail.color;
    for (const { geometry } of detail.geometries) {
      if (color) geometry.setAttribute('color', color);
      else geometry.deleteAttribute('color');
    }
  }

  private show(index: number): void {
    const detail = this.details.get(index);
    if (!detail || !this.topology) return;
    this.shownDetail = index;
    this.body.clear();
    const hasColors = this.topology.colors.length > 0, hasUvs = this.topology.uvs.length > 0;
    for (const { topology, geometry, materials } of detail.geometries) {
      const made = materials.map((m) => this.material(m, { hasColors, hasUvs, topology }));
      const object = topology === 1 ? new THREE.LineSegments(geometry, made)
        : topology === 2 ? new THREE.Points(geometry, made) : new THREE.Mesh(geometry, made);
      object.castShadow = object.receiveShadow = topology === 0;
      object.frustumCulled = false; // its bounds change every frame
      this.body.add(object);
    }
  }

  private material(index: number, look: { hasColors: boolean; hasUvs: boolean; topology: number }): THREE.Material {
    if (this.shares) look = { ...look, hasColors: true, hasUvs: false };
    const key = this.shares ? `painted.${look.topology}` : `${index}.${look.topology}`, known = this.materials.get(key);
    if (known) return known;
    const made = makeMaterial(this.shares ? painted : this.looks[index] ?? plain, look, this.store);
    this.materials.set(key, made);
    return made;
  }

  private clearDetails(): void {
    this.body.clear();
    this.shownDetail = -1;
    this.frame = null;
    for (const detail of this.details.values()) {
      for (const { geometry } of detail.geometries) geometry.dispose();
    }
    this.details.clear();
  }
}

const painted = { ...plain, name: 'painted', baseColor: [1, 1, 1, 1] };
const NOTHING = [12, 18, 60], ALL = [250, 200, 50]; // told apart by brightness too

function ramp(t: Topology, index: number, shares: Uint8Array): Uint8Array {
  const full = t.details[0]!.sources, from = t.details[index]!.sources, out = new Uint8Array(from.length * 3);
  for (let i = 0; i < from.length; i++) {
    const share = (shares[index === 0 ? from[i]! : full[from[i]!]!] ?? 0) / 255;
    for (let k = 0; k < 3; k++) out[3 * i + k] = NOTHING[k]! + share * (ALL[k]! - NOTHING[k]!);
  }
  return out;
}

function buildDetail(t: Topology, index: number): Detail {
  const d = t.details[index]!, n = d.vertexCount;
  const uploads = (): Uploads => {
    const position = new THREE.BufferAttribute(new Float32Array(n * 3), 3);
    const normal = new THREE.BufferAttribute(new Int16Array(n * 4), 4, true);
    position.setUsage(THREE.DynamicDrawUsage);
    normal.setUsage(THREE.DynamicDrawUsage);
    return { position, normal, frame: null };
  };
  const indices = new THREE.BufferAttribute(n <= 65536 ? new Uint16Array(d.indices) : d.indices, 1);
  const still = new Map<string, THREE.BufferAttribute>();
  t.uvs.slice(0, 4).forEach((uv, set) => {
    if (uv) still.set(set ? `uv${set}` : 'uv', new THREE.BufferAttribute(gather(t, index, uv, 2), 2));
  });
  if (t.colors[0]) still.set('color', new THREE.BufferAttribute(gather(t, index, t.colors[0], 4), 4, true));
  const geometries: Detail['geometries'] = [];
  for (const topology of [0, 1, 2]) {
    const parts = d.parts.filter((p) => p.topology === topology && p.indexCount > 0);
    if (!parts.length) continue;
    const geometry = new THREE.BufferGeometry(), materials: number[] = [];
    geometry.setIndex(indices);
    for (const [name, attribute] of still) geometry.setAttribute(name, attribute);
    for (const p of parts) {
      const last = geometry.groups.at(-1);
      let slot = materials.indexOf(p.material);
      if (slot < 0) slot = materials.push(p.material) - 1;
      if (last && last.materialIndex === slot && last.start + last.count === p.indexFirst) last.count += p.indexCount;
      else geometry.addGroup(p.indexFirst, p.indexCount, slot);
    }
    // Nothing of three.js that asks for bounds (ray casts apart) should compute them each frame.
    geometry.boundingSphere = new THREE.Sphere(new THREE.Vector3(), Infinity);
    geometries.push({ topology, geometry, materials });
  }
  return { color: still.get('color') ?? null, geometries, uploads: [uploads(), uploads()], turn: 0 };
}

/** What stands beside each vertex of detail 0, for the vertices of another detail. */
function gather<A extends Float32Array | Uint8Array>(t: Topology, index: number, values: A, width: number): A {
  if (index === 0) return values;
  const from = t.details[index]!.sources, out = new (values.constructor as { new (n: number): A })(from.length * width);
  for (let i = 0; i < from.length; i++) {
    for (let k = 0; k < width; k++) out[i * width + k] = values[from[i]! * width + k]!;
  }
  return out;
}
