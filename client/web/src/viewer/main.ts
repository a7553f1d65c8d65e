import * as THREE from 'three';
import type { StateChange } from '../client/client.js';
import type { Note, Quality } from '../proto/session.js';
import { Code, EXTRA_COSTS } from '../client/codes.js';
import { TextureStore } from '../mesh/textures.js';
import { ExtrasPanel } from './extras.js';
import { Dresser } from './dresser.js';
import { exposeForTests } from './inspect.js';
import { Labels } from './labels.js';
import { mixerOf } from './mixer.js';
import { cross, element, figure, FigureList, make, notify, title } from './page.js';
import { Performer } from './performer.js';
import { Stage } from './stage.js';
import { Steering } from './steering.js';

// The viewer page: a stage, performers on it, and the panel that steers them.
// Address: ?character=NAME, several times, each with a ?recipe= if need be; ?scene=NAME, a shared scene.

interface Listed { name: string; vertices: number; still: boolean; }

const PERFORMERS_MAX = 8, SHAPES_MAX = 200, FIGURES_MS = 400, SHARED_SPACING_M = 1.6;
const query = new URLSearchParams(location.search);

class Viewer {
  readonly stage = new Stage(element<HTMLCanvasElement>('canvas'));
  private readonly steering = new Steering(this.stage, element<HTMLCanvasElement>('canvas'), () => this.chosen, () => this.showClips());
  private readonly labels = new Labels(this.stage.camera);
  private readonly extras = new ExtrasPanel();
  private readonly store = new TextureStore();
  private readonly dresser = new Dresser();
  private readonly figures = new FigureList(element('figures-list'));
  private listed: Listed[] = [];
  readonly performers: Performer[] = [];
  private chosen: Performer | null = null;
  private quality: Quality = { bits: 14, rate_hz: 60, detail: 0 };
  private token = sessionStorage.getItem('sinew-token') ?? undefined;
  private readonly scene = query.get('scene') ?? undefined;
  private readonly name = query.get('name') ?? localStorage.getItem('sinew-name') ?? undefined;
  private framed = 0; // performers that the camera has been fitted to
  private where: THREE.Vector3 | null = null;
  private lastMs = 0;
  private drawnTimes: number[] = [];

  async start(): Promise<void> {
    this.bindPanel();
    this.setTheme(localStorage.getItem('sinew-theme'));
    this.layOut();
    addEventListener('resize', () => this.layOut());
    addEventListener('online', () => this.retry());
    requestAnimationFrame((now) => this.frame(now));
    setInterval(() => this.showFigures(), FIGURES_MS);
    await this.loadList();
    const wanted = query.getAll('character');
    const recipes = query.getAll('recipe'); // one a character, in the same order
    (wanted.length ? wanted.slice(0, PERFORMERS_MAX) : ['']).forEach((name, i) => this.add(name, recipes[i]));
  }

  // ---- characters ----

  private async loadList(): Promise<void> {
    const headers: Record<string, string> = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    const answer = await fetch('/v1/characters', { headers }).catch(() => null);
    if (!answer?.ok) return;
    const { characters } = await answer.json() as { characters: Listed[] };
    this.listed = characters;
    element('add-name').replaceChildren(
      ...characters.map((c) => make('option', { value: c.name, textContent: title(c.name) })));
    this.showCast();
  }

  private add(character: string, recipe?: string): void {
    if (this.performers.length >= PERFORMERS_MAX) return notify(`${PERFORMERS_MAX} characters are as many as this page shows.`);
    const performer: Performer = new Performer({
      character: character || (this.listed[0]?.name ?? ''), scene: this.scene, name: this.name, token: this.token, quality: this.quality,
      recipe,
      store: this.store, showsOthers: this.performers.length === 0,
      onState: (change) => queueMicrotask(() => this.onState(performer, change)),
      onNote: (note) => this.onNote(performer, note),
      onChange: () => queueMicrotask(() => this.onChange(performer)),
    });
    this.performers.push(performer);
    this.stage.cast.add(performer.group);
    this.choose(performer);
    element('add').hidden = this.performers.length >= PERFORMERS_MAX;
  }

  private remove(performer: Performer): void {
    const at = this.performers.indexOf(performer);
    performer.dispose();
    this.performers.splice(at, 1);
    element('add').hidden = false;
    this.choose(this.performers[Math.min(at, this.performers.length - 1)] ?? null);
    this.framed = 0;
    this.arrange();
    this.onState(performer, { state: 'closed' });
    (document.querySelector<HTMLElement>('.cast .choose') ?? element('add-name')).focus();
  }

  private choose(performer: Performer | null): void {
    this.chosen?.controls.releaseAll();
    this.chosen = performer;
    this.steering.refresh();
    this.where = null;
    this.showCast();
    this.showClips();
    this.showShapes();
    this.dresser.show(performer);
  }

  /** Side by side, with room between. In a shared scene they stand where the scene has them. */
  private arrange(): void {
    const sized = this.performers.filter((p) => p.sized && p.own);
    if (!this.scene) {
      const boxes = sized.map((p) => p.own!.bounds), widths = boxes.map((b) => b.max.x - b.min.x);
      const depth = Math.max(0, ...boxes.map((b) => b.max.z - b.min.z));
      const gap = Math.max(0.3 * Math.max(0, ...widths), 0.22 * depth);
      let x = -(widths.reduce((sum, w) => sum + w, 0) + gap * Math.max(0, sized.length - 1)) / 2;
      sized.forEach((p, i) => {
        p.group.position.x = x - boxes[i]!.min.x;
        x += widths[i]! + gap;
      });
    }
    if (sized.length !== this.framed) this.fit(this.framed === 0);
    this.framed = sized.length;
  }

  private fit(reset = false): void {
    const box = new THREE.Box3();
    for (const p of this.performers) p.bounds(box);
    if (!box.isEmpty()) box.min.y = Math.min(box.min.y, 0);
    this.stage.fit(box, reset);
  }

  // ---- what sessions tell ----

  private onChange(performer: Performer): void {
    if (!this.performers.includes(performer)) return;
    if (this.scene && performer.sized && !performer.player.clip) this.spread(performer);
    this.arrange();
    this.showCast();
    this.showEmpty(performer.state);
    if (performer !== this.chosen) return;
    this.steering.refresh();
    this.showClips();
    this.dresser.show(performer);
    if (this.shapesOf !== performer.shapes) this.showShapes();
  }

  /** The further own characters of a shared scene step aside, once. */
  private readonly spreadOut = new Set<Performer>();
  private spread(performer: Performer): void {
    const index = this.performers.indexOf(performer), unit = performer.unitM;
    if (index < 1 || !unit || this.spreadOut.has(performer)) return;
    this.spreadOut.add(performer);
    performer.client.place({ position: [index * SHARED_SPACING_M / unit, 0, 0] });
  }

  private onState(performer: Performer, change: StateChange): void {
    if (change.end?.code === Code.UNAUTHORISED && this.performers.includes(performer)) this.askToken();
    const worst = ['closed', 'waiting', 'connecting', 'open'] as const;
    const states = this.performers.map((p) => p.state);
    const shown = worst.map((s) => states.find((x) => x.state === s)).find(Boolean) ?? { state: 'idle' as const };
    const status = element('status'), text = element('status-text');
    status.dataset.state = shown.state;
    const said = { idle: 'No character', connecting: 'Connecting', open: 'Live', waiting: 'Connection lost. Reconnecting', closed: 'Disconnected' };
    text.textContent = shown.end && shown.state !== 'open' && shown.end.name !== 'LOST'
      ? `${shown.end.text} ${shown.state === 'waiting' ? 'Reconnecting' : ''}` : said[shown.state];
    element('retry').hidden = shown.state !== 'waiting' && shown.state !== 'closed';
    if (change.state === 'open' && performer.client.counters.reconnects > 0) {
      notify(change.resumed ? 'Reconnected: the session goes on.' : 'Reconnected.');
      if (!this.listed.length) void this.loadList();
    }
    this.showEmpty(shown);
  }

  private showEmpty(shown: StateChange): void {
    const none = this.performers.length === 0, seen = this.performers.some((p) => p.sized);
    element('empty').hidden = seen && !none;
    document.querySelector<HTMLElement>('.spinner')!.hidden = none || shown.state === 'closed';
    element('empty-text').textContent = none ? 'Add a character to begin.'
      : shown.end && shown.state !== 'open' ? shown.end.text : 'Waiting for the first frame';
  }

  private onNote(performer: Performer, note: Note): void {
    if (note.code === EXTRA_COSTS) {
      if (performer === this.chosen) this.extras.tell(note.text);
      return;
    }
    const who = this.performers.length > 1 ? `${title(performer.character)}: ` : '';
    if (note.text) notify(`${who}${note.text}`);
  }

  private retry(): void {
    for (const p of this.performers) {
      if (p.state.state === 'closed') p.client.connect();
      else p.client.retryNow();
    }
  }

  private askToken(): void {
    const ask = element<HTMLDialogElement>('ask');
    if (!ask.open) ask.showModal();
  }

  // ---- the panel ----

  private bindPanel(): void {
    const on = (id: string, type: string, step: (e: Event) => void): void => element(id).addEventListener(type, step);
    on('add', 'submit', (e) => {
      e.preventDefault();
      this.add(element<HTMLSelectElement>('add-name').value);
    });
    on('join', 'submit', (e) => {
      e.preventDefault();
      const next = new URLSearchParams(), name = element<HTMLInputElement>('scene').value.trim();
      for (const p of this.performers) next.append('character', p.character);
      if (name) next.set('scene', name);
      localStorage.setItem('sinew-name', element<HTMLInputElement>('name').value.trim());
      location.search = next.toString();
    });
    element<HTMLInputElement>('scene').value = this.scene ?? '';
    element<HTMLInputElement>('name').value = this.name ?? '';
    on('play', 'click', () => this.togglePlay());
    on('speed', 'input', () => this.setSpeed(Number(element<HTMLInputElement>('speed').value)));
    for (const [id, key] of [['bits', 'bits'], ['rate', 'rate_hz'], ['detail', 'detail']] as const) {
      on(id, 'change', () => this.setQuality({ [key]: Number(element<HTMLSelectElement>(id).value) }));
    }
    on('relax', 'click', () => this.relax());
    on('retry', 'click', () => this.retry());
    on('fit', 'click', () => this.fit());
    on('turn', 'click', () => this.press('turn', (pressed) => { this.stage.controls.autoRotate = pressed; }));
    on('figures', 'click', () => this.press('figures', (pressed) => { element('stats').hidden = !pressed; }));
    on('theme', 'click', () => this.setTheme(document.documentElement.dataset.theme === 'light' ? 'dark' : 'light', true));
    on('sheet', 'click', () => this.toggleSheet());
    on('ask', 'submit', () => this.useToken(element<HTMLInputElement>('token').value.trim()));
    on('canvas', 'keydown', (e) => this.onKey(e as KeyboardEvent));
  }

  private onKey(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === 'f' || e.key === 'F') this.fit();
    else if (e.key === ' ') this.togglePlay();
    else return;
    e.preventDefault();
  }

  private press(id: string, set: (pressed: boolean) => void): void {
    const button = element(id), pressed = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', String(pressed));
    set(pressed);
  }

  private toggleSheet(): void {
    const down = element('panel').classList.toggle('down');
    element('sheet').setAttribute('aria-expanded', String(!down));
    this.layOut();
    this.fit();
  }

  private useToken(token: string): void {
    this.token = token;
    sessionStorage.setItem('sinew-token', token);
    for (const p of this.performers) p.client.setCredentials({ token });
    this.retry();
    void this.loadList();
  }

  private setTheme(theme: string | null, keep = false): void {
    const light = matchMedia('(prefers-color-scheme: light)');
    const apply = (): void => {
      document.documentElement.dataset.theme = theme ?? (light.matches ? 'light' : 'dark');
      this.stage.dress();
    };
    light.onchange = theme ? null : apply;
    if (keep && theme) localStorage.setItem('sinew-theme', theme);
    apply();
  }

  private setQuality(change: Quality): void {
    this.quality = { ...this.quality, ...change };
    for (const p of this.performers) p.client.settings(change);
  }

  private setSpeed(speed: number): void {
    element('speed-text').textContent = `${speed.toFixed(1)}×`;
    if (this.chosen) this.chosen.player.speed = speed;
  }

  private playClip(clip: string): void {
    if (this.steering.on) this.steering.set(false); // one thing drives the pose
    this.chosen?.play(clip);
  }

  private togglePlay(): void {
    const player = this.chosen?.player;
    if (!player) return;
    if (!player.clip && this.chosen!.clips[0]) this.playClip(this.chosen!.clips[0]);
    else player.playing = !player.playing;
    this.showClips();
  }

  private showCast(): void {
    const list = element('cast'), focused = list.contains(document.activeElement);
    const rows = this.performers.map((p) => {
      const name = title(p.character) || 'Character', chosen = p === this.chosen;
      const detail = p.vertexCount ? `${p.vertexCount.toLocaleString('en')} vertices` : p.state.state === 'closed' ? 'not connected' : 'joining';
      const choose = make('button', { type: 'button', className: 'choose', onclick: () => this.choose(p) },
        make('span', {}, name), make('small', {}, detail));
      choose.setAttribute('aria-pressed', String(chosen));
      const row = make('li', { className: chosen ? 'chosen' : '' }, choose);
      if (this.performers.length > 1) {
        const away = make('button', { type: 'button', className: 'icon', onclick: () => this.remove(p) }, cross());
        away.setAttribute('aria-label', `Remove ${name}`);
        row.append(away);
      }
      return row;
    });
    list.replaceChildren(...rows);
    if (focused) list.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
  }

  private showClips(): void {
    const chosen = this.chosen, list = element('clips'), focused = list.contains(document.activeElement);
    const chips = (chosen?.clips ?? []).map((clip) => {
      const chip = make('button', { type: 'button', textContent: title(clip), title: clip, onclick: () => this.playClip(clip) });
      chip.setAttribute('aria-pressed', String(chosen!.player.clip === clip));
      return chip;
    });
    list.replaceChildren(...chips);
    if (!chips.length) list.append(make('p', {}, chosen?.client.catalogue ? 'This character has no clips.' : 'Not known yet.'));
    if (focused) list.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
    const play = element<HTMLButtonElement>('play'), idle = !chosen?.player.clip;
    play.hidden = idle;
    element('speed-line').hidden = !chips.length;
    play.textContent = chosen?.player.playing ? 'Pause' : 'Play';
    play.setAttribute('aria-pressed', String(!idle && chosen!.player.playing));
    element<HTMLInputElement>('speed').value = String(chosen?.player.speed ?? 1);
    element('speed-text').textContent = `${(chosen?.player.speed ?? 1).toFixed(1)}×`;
  }

  /** A slider for each shape that the character has, and a strip for each root. */
  private shapesOf: string[] | null = null;
  private showShapes(): void {
    const chosen = this.chosen, shapes = chosen?.shapes ?? [];
    this.shapesOf = chosen?.shapes ?? null;
    const strips = chosen ? mixerOf(chosen) : [];
    element('mixer-section').hidden = strips.length === 0;
    element('mixer').replaceChildren(...strips);
    this.extras.show(chosen);
    element('face-section').hidden = shapes.length === 0;
    element('face').replaceChildren(...shapes.slice(0, SHAPES_MAX).map((shape) => {
      const range = make('input', { type: 'range', min: '0', max: '1', step: '0.01', value: String(chosen!.weights.get(shape) ?? 0) });
      range.oninput = () => chosen!.shape(shape, Number(range.value));
      return make('label', { className: 'slider', title: shape }, make('span', {}, title(shape)), range);
    }));
  }

  private relax(): void {
    for (const shape of this.chosen?.weights.keys() ?? []) this.chosen!.shape(shape, 0);
    this.showShapes();
  }

  private showFigures(): void {
    const p = this.chosen;
    if (!p) return;
    const f = p.meter.read(), now = performance.now();
    for (const other of this.performers) if (other !== p) other.meter.read();
    this.drawnTimes = this.drawnTimes.filter((t) => now - t < 2000);
    this.figures.set('display', figure.hz(this.drawnTimes.length / 2));
    this.figures.set('stream', figure.hz(f.streamHz));
    this.figures.set('frame age', figure.ms(f.ageMs));
    this.figures.set('per vertex', figure.bits(f.bitsPerVertex));
    this.figures.set('bandwidth', figure.rate(f.kbitPerS));
    this.figures.set('dropped', figure.count(f.dropped));
    this.figures.set('round trip', figure.ms(f.roundTripMs));
    this.figures.set('input to frame', figure.ms(f.inputMs));
  }

  // ---- drawing ----

  private layOut(): void {
    const panel = element('panel').getBoundingClientRect(), phone = innerWidth <= 720;
    document.documentElement.style.setProperty('--sheet', phone ? `${panel.height}px` : '0px');
    this.stage.resize(phone ? { right: 0, top: 120, bottom: panel.height } : { right: panel.width + 12, top: 60, bottom: 60 });
    if (this.framed) this.fit();
  }

  private frame(nowMs: number): void {
    requestAnimationFrame((now) => this.frame(now));
    const seconds = Math.min(0.1, Math.max(0, (nowMs - this.lastMs) / 1000));
    this.lastMs = nowMs;
    this.drawnTimes.push(nowMs);
    for (const p of this.performers) p.step(nowMs, seconds);
    this.steering.step(nowMs, seconds);
    this.follow();
    this.stage.render(seconds);
    if (this.scene) this.labels.place(this.performers);
  }

  private follow(): void {
    const now = this.chosen?.whereabouts() ?? null;
    if (now && this.where && this.performers.length === 1) {
      this.stage.follow(now.clone().sub(this.where));
      const box = new THREE.Box3();
      if (!now.equals(this.where)) this.stage.surround(this.chosen!.bounds(box));
    }
    this.where = now;
  }
}

function run(): void {
  let viewer: Viewer;
  try {
    viewer = new Viewer();
  } catch {
    element('empty-text').textContent = 'This browser gives no WebGL 2: the characters cannot be drawn.';
    document.querySelector<HTMLElement>('.spinner')!.hidden = true;
    return;
  }
  exposeForTests(viewer.performers, () => viewer.stage.controls.getAzimuthalAngle());
  void viewer.start();
}

run();
