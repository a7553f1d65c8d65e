import * as THREE from 'three';
import { connectSinew } from '../client/connect.js';
import type { SinewClient, StateChange } from '../client/client.js';
import type { Note, Quality } from '../proto/session.js';
import type { SurfaceFrame, Topology } from '../decode/decoder.js';
import { SHARES } from '../proto/appearance.js';
import { SinewMesh } from '../mesh/mesh.js';
import type { TextureStore } from '../mesh/textures.js';
import { readBindings } from '../input/bindings.js';
import { Controls } from '../input/controls.js';
import { ClipPlayer } from './clip_player.js';
import { gazeWeights } from './gaze.js';
import { Look } from './look.js';
import { Meter } from './meter.js';

// One session and what it shows: the own character, and in a shared scene the others.

export interface PerformerOptions {
  character: string; scene?: string; name?: string; token?: string; quality: Quality; store: TextureStore;
  recipe?: string; // how it is to look from its first frame on
  showsOthers: boolean; // one performer of a page shows a scene's other characters
  onState: (change: StateChange) => void;
  onNote: (note: Note) => void;
  onChange: () => void; // catalogue or size has come
}

const POSE_GAP_MS = 15; // the server takes 120 inputs a second at most
const VIEWERS_EXTRA = 1;

export class Performer {
  readonly group = new THREE.Group();
  readonly client: SinewClient;
  readonly controls: Controls;
  readonly player = new ClipPlayer();
  readonly meter: Meter;
  readonly meshes = new Map<number, SinewMesh>();
  state: StateChange = { state: 'idle' };
  clips: string[] = [];
  private clipSeconds = new Map<string, number>();
  shapes: string[] = [];
  roots: string[] = []; // of a character with several
  extras: string[] = [];
  painted = ''; // the root whose table is shown on the surface
  private tables: string[] = []; // hashes, one a root
  private readonly shares = new Map<string, Uint8Array>();
  expressions: string[] = []; // the file's own
  readonly look: Look;
  gaze: [number, number] = [0, 0]; // right and up, -1 .. 1
  readonly weights = new Map<string, number>(); // of shapes and expressions that someone has moved
  vertexCount = 0;
  sized = false; // a frame has been drawn: its bounds are known
  private readonly topologies = new Map<string, Topology>();
  private ghosts: SinewMesh[] = []; // of the session before, until the new one shows something
  private readonly moved = new Set<string>();
  private lastPose = 0;

  constructor(readonly options: PerformerOptions) {
    const { character, scene, name, token, store } = options;
    const quality = options.showsOthers ? options.quality : { ...options.quality, characters_max: VIEWERS_EXTRA };
    this.client = connectSinew({ character, scene, name, token, quality, hasTexture: (hash) => store.has(hash),
      recipe: () => this.look.recipeForJoin(this.character) });
    this.look = new Look(() => this.client, options.recipe);
    this.controls = new Controls(this.client);
    this.meter = new Meter(this.client);
    this.listen();
  }

  get character(): string { return this.client.welcome?.character ?? this.options.character; }
  get own(): SinewMesh | undefined { return this.meshes.get(this.client.actor); }

  play(clip: string): void {
    this.player.start(clip, this.clipSeconds.get(clip) ?? Infinity);
    this.options.onChange();
  }

  hasTable(root: string): boolean { return !!this.tables[this.roots.indexOf(root)]; }

  /** Shows a root's table on the own surface, as soon as it is there; '' shows none. */
  paint(root: string): void {
    const hash = this.tables[this.roots.indexOf(root)], shares = hash ? this.shares.get(hash) : undefined;
    this.painted = root;
    if (hash && !shares) this.client.want([hash]);
    this.own?.paint(shares ?? null);
  }

  shape(name: string, weight: number): void {
    this.weights.set(name, weight);
    this.moved.add(name);
  }

  get canGaze(): boolean { return this.client.catalogue?.faceNames.has('eyeLookOutLeft') || this.shapes.includes('eyeLookOutLeft'); }
  gazeAt(across: number, up: number): void {
    this.gaze = [across, up];
    for (const [name, weight] of Object.entries(gazeWeights(across, up))) this.shape(name, weight);
  }

  /** In the animation frame: sends the clip's time, uploads what has come. */
  step(nowMs: number, seconds: number): void {
    const time = this.player.step(seconds);
    if (time !== null && nowMs - this.lastPose >= POSE_GAP_MS && this.client.state === 'open') {
      this.lastPose = nowMs;
      this.client.pose({ clip: this.player.clip!, time_s: time });
    }
    if (this.moved.size && this.client.state === 'open') { // a slider gives more events than there are frames
      this.client.face(Object.fromEntries([...this.moved].map((name) => [name, this.weights.get(name)!])));
      this.moved.clear();
    }
    this.look.step();
    for (const mesh of this.meshes.values()) {
      const frame = mesh.update();
      if (frame) this.drawn(mesh, frame);
    }
  }

  bounds(box: THREE.Box3): THREE.Box3 {
    for (const mesh of this.meshes.values()) {
      if (mesh.frame) box.union(mesh.bounds.clone().translate(this.group.position));
    }
    return box;
  }

  /** Metres to the model's unit; 0 before its surface has come. */
  get unitM(): number {
    const frame = this.own?.frame;
    return frame ? this.topologies.get(`${frame.model}.${frame.modelVersion}`)?.unitM ?? 0 : 0;
  }
  /** Where the own character has gone, metres. */
  whereabouts(): THREE.Vector3 | null {
    const frame = this.own?.frame;
    return frame ? new THREE.Vector3().fromArray(frame.translation).multiplyScalar(this.unitM) : null;
  }

  dispose(): void {
    this.client.close();
    for (const mesh of [...this.meshes.values(), ...this.ghosts]) mesh.dispose();
    this.group.removeFromParent();
  }

  private listen(): void {
    const c = this.client, o = this.options;
    c.on('state', (change) => {
      this.state = change;
      o.onState(change);
    });
    c.on('welcome', (welcome) => {
      this.controls.bindings = readBindings(welcome.bindings);
      if (!welcome.resumed) this.controls.forget();
      o.onChange();
    });
    c.on('notice', o.onNote);
    c.on('error', o.onNote);
    c.on('catalogue', ({ names, clipSeconds, parameters }) => {
      this.look.list(parameters);
      this.expressions = names.expressions ?? [];
      this.clips = names.clips ?? [];
      this.clipSeconds = new Map(this.clips.map((clip, i) => [clip, clipSeconds[i] ?? Infinity]));
      this.shapes = names.shapes ?? [];
      this.roots = names.roots ?? [];
      this.extras = names.extras ?? [];
      this.tables = names.root_tables ?? [];
      this.paint(this.roots.includes(this.painted) ? this.painted : '');
      o.onChange();
    });
    c.on('actor', (actor) => this.meet(actor.actor, actor.model, actor.modelVersion, actor.own));
    c.on('gone', ({ actor }) => this.part(actor));
    c.on('surface', (topology) => {
      this.topologies.set(`${topology.model}.${topology.version}`, topology);
      for (const a of c.actors.values()) this.meet(a.actor, a.model, a.modelVersion, a.own);
    });
    c.on('appearance', ({ actor, materials }) => this.meshes.get(actor)?.setAppearance(materials));
    c.on('texture', ({ hash, mime, bytes }) => {
      if (mime !== SHARES) return void o.store.add(hash, mime, bytes);
      this.shares.set(hash, bytes);
      this.paint(this.painted);
    });
    c.on('frame', (frame) => this.take(frame));
  }

  private meet(actor: number, model: number, version: number, own: boolean): void {
    if (!own && !this.options.showsOthers) return;
    const mesh = this.meshes.get(actor) ?? new SinewMesh(this.options.store, (frame) => this.client.recycle(frame));
    if (!this.meshes.has(actor)) {
      this.meshes.set(actor, mesh);
      this.group.add(mesh);
    }
    const topology = this.topologies.get(`${model}.${version}`);
    if (!topology) return;
    if (own) this.vertexCount = topology.details[0]!.vertexCount;
    mesh.setTopology(topology);
    if (own && this.painted) this.paint(this.painted);
    this.options.onChange();
  }

  private part(actor: number): void {
    const mesh = this.meshes.get(actor);
    if (!mesh) return;
    this.meshes.delete(actor);
    if (this.client.state === 'open') mesh.dispose();
    else this.ghosts.push(mesh);
  }

  private take(frame: SurfaceFrame): void {
    if (frame.actor === this.client.actor) {
      this.meter.arrived(frame);
    }
    const mesh = this.meshes.get(frame.actor);
    if (!mesh) return this.client.recycle(frame);
    if (mesh.setFrame(frame) && frame.actor === this.client.actor) this.meter.unseen++;
  }

  private drawn(mesh: SinewMesh, frame: SurfaceFrame): void {
    this.client.rendered(frame);
    if (mesh !== this.own) return;
    this.meter.drawn(frame);
    for (const ghost of this.ghosts) ghost.dispose();
    this.ghosts = [];
    if (!this.sized) {
      this.sized = true;
      this.options.onChange();
    }
  }
}
