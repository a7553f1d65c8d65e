import type { Control } from '../proto/input.js';
import { GOTO, type Bindings } from './bindings.js';

// Keyboard, sticks, pointers and gamepads of one player, put together into what CONTROL says.
// Nothing of the page is touched here: devices call in, `flush` sends what has changed.

export interface ControlSink {
  control(control: Omit<Control, 'events'>): unknown;
  press(name: string): void;
  release(name: string): void;
  gesture(name: string, parameters: object): void;
}
export type Pair = [number, number];
export type Direction = [number, number, number];

const GAP_MS = 15;       // the server takes 120 inputs a second at most
const VIEW_STEP = 0.008; // a change of where one looks that is worth a message, radians

const SERVER_NAMES: Record<string, string> = { two_finger: 'pinch', swipe_up: 'swipe', swipe_down: 'swipe', swipe_left: 'swipe', swipe_right: 'swipe' };

const clamp = (x: number, low: number, high: number): number => Number.isFinite(x) ? Math.min(high, Math.max(low, x)) : 0;

/** A stick's dead zone, round, and what is left of it stretched over the whole: −1 … 1. */
export function stick(x: number, y: number, dead = 0.15): Pair {
  const size = Math.hypot(x, y);
  if (!(size > dead)) return [0, 0];
  const scaled = Math.min(1, (size - dead) / (1 - dead)) / size;
  return [x * scaled, y * scaled];
}

export class Controls {
  bindings: Bindings = new Map();
  private readonly moves = new Map<string, Pair>();    // by device
  private readonly triggers = new Map<string, Pair>();
  private readonly held = new Map<string, string>();   // input → action
  private view: Direction | null = null;
  private sentMove: Pair = [0, 0];
  private sentTriggers: Pair = [0, 0];
  private sentView: Direction | null = null;
  private sentAt = -Infinity;
  private point: Pair | null = null; // to go to, not sent yet

  constructor(private readonly sink: ControlSink) {}

  /** Whether anything is held: the keys and sticks of somebody who is steering. */
  get active(): boolean { return this.held.size > 0 || this.move().some((x) => x !== 0); }

  /** x right, y forward; several devices add up. */
  setMove(device: string, x: number, y: number): void { this.moves.set(device, [clamp(x, -1, 1), clamp(y, -1, 1)]); }
  setTriggers(device: string, left: number, right: number): void {
    this.triggers.set(device, [clamp(left, 0, 1), clamp(right, 0, 1)]);
  }
  /** Where the player looks, in the scene: `move`'s forward is there. */
  setView(x: number, y: number, z: number): void {
    const size = Math.hypot(x, y, z);
    if (size > 1e-6) this.view = [x / size, y / size, z / size];
  }
  goTo(x: number, z: number): void {
    if (Number.isFinite(x) && Number.isFinite(z)) this.point = [x, z];
  }

  /** A key or a button went down. False: it means nothing here. */
  down(input: string): boolean {
    const action = this.bindings.get(input);
    if (!action || action === GOTO) return false;
    if (!this.held.has(input)) this.sink.press(action); // a key that repeats is still one press
    this.held.set(input, action);
    return true;
  }
  up(input: string): boolean {
    const action = this.held.get(input);
    if (!action) return false;
    this.held.delete(input);
    if (![...this.held.values()].includes(action)) this.sink.release(action);
    return true;
  }
  /** Something short: a tap, a swipe. What is bound is pressed; what is not, the server may know. */
  gesture(name: string, parameters: object): void {
    if (this.down(`touch:${name}`)) this.up(`touch:${name}`);
    else if (this.bindings.get(`touch:${name}`) !== GOTO) this.sink.gesture(SERVER_NAMES[name] ?? name, parameters);
  }

  /** The page has lost its focus, or a device has gone: nothing is held any more. */
  releaseAll(device?: string): void {
    for (const input of [...this.held.keys()]) if (!device || input.startsWith(`${device}:`)) this.up(input);
    for (const map of [this.moves, this.triggers]) {
      if (device) map.delete(device);
      else map.clear();
    }
  }

  /** In the animation frame: sends what has changed; a rest at once, the rest at most 66 times a second. */
  flush(nowMs: number): void {
    const move = this.move(), triggers = this.sum(this.triggers, 0), out: Omit<Control, 'events'> = {};
    const rests = move.every((x) => x === 0) && this.sentMove.some((x) => x !== 0);
    if (!rests && nowMs - this.sentAt < GAP_MS) return;
    if (move.some((x, i) => x !== this.sentMove[i])) out.move = this.sentMove = move;
    if (triggers.some((x, i) => x !== this.sentTriggers[i])) out.triggers = this.sentTriggers = triggers;
    if (this.point) out.goto = this.point;
    this.point = null;
    // Where one looks matters to who moves; somebody who only looks around is told of it too, at leisure.
    if (this.view && this.turned(this.view) && (out.move || out.goto || move.some((x) => x !== 0) || this.sentView)) {
      out.view = this.sentView = this.view;
    }
    if (Object.keys(out).length === 0) return;
    this.sentAt = nowMs;
    this.sink.control(out);
  }

  /** A new session knows nothing; a resumed one knows all. */
  forget(): void {
    this.sentMove = this.sentTriggers = [0, 0];
    this.sentView = null;
  }

  private turned(view: Direction): boolean {
    const last = this.sentView;
    return !last || Math.hypot(view[0] - last[0], view[1] - last[1], view[2] - last[2]) > VIEW_STEP;
  }
  private move(): Pair {
    const sum = this.sum(this.moves, -1), size = Math.hypot(...sum);
    return size > 1 ? [sum[0] / size, sum[1] / size] : sum;
  }
  private sum(of: Map<string, Pair>, low: number): Pair {
    let x = 0, y = 0;
    for (const pair of of.values()) { x += pair[0]; y += pair[1]; }
    return [clamp(x, low, 1), clamp(y, low, 1)];
  }
}
