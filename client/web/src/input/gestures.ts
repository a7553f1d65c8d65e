// What fingers on the picture mean: tap, hold, drag, swipe, two fingers. Positions are shares of
// the picture, 0 … 1 from the top left; deltas likewise. Pure: the page calls in with its events.

export interface Point { x: number; y: number; }
export interface Gesture {
  name: 'tap' | 'hold' | 'drag' | 'swipe_up' | 'swipe_down' | 'swipe_left' | 'swipe_right' | 'two_finger';
  position: [number, number];
  delta: [number, number];
  scale?: number; // of two fingers: how far apart now against at first
  ended: boolean;
}

const STILL = 0.02, HOLD_MS = 400, SWIPE_MS = 350, SWIPE = 0.08;

interface Finger { first: Point; last: Point; since: number; }

export class Gestures {
  private readonly fingers = new Map<number, Finger>();
  private spread = 0;   // of two fingers at first
  private many = false; // more than one finger since the first went down
  private held = false;

  constructor(private readonly tell: (gesture: Gesture) => void) {}

  down(id: number, at: Point, nowMs: number): void {
    if (this.fingers.size === 0) this.many = this.held = false;
    this.fingers.set(id, { first: at, last: at, since: nowMs });
    if (this.fingers.size === 2) {
      this.many = true;
      this.spread = this.apart();
    }
  }

  move(id: number, at: Point): void {
    const finger = this.fingers.get(id);
    if (!finger) return;
    finger.last = at;
    if (this.fingers.size === 2) this.two(false);
    else if (!this.many && this.moved(finger)) this.one('drag', finger, false);
  }

  up(id: number, nowMs: number): void {
    const finger = this.fingers.get(id);
    if (!finger) return;
    if (this.fingers.size === 2) this.two(true);
    this.fingers.delete(id);
    if (this.many || this.fingers.size > 0) return;
    if (!this.moved(finger)) {
      if (this.held) this.one('hold', finger, true);
      else this.one('tap', finger, true);
      return;
    }
    const x = finger.last.x - finger.first.x, y = finger.last.y - finger.first.y;
    const fast = nowMs - finger.since <= SWIPE_MS && Math.hypot(x, y) >= SWIPE;
    this.one(!fast ? 'drag' : Math.abs(x) > Math.abs(y) ? (x > 0 ? 'swipe_right' : 'swipe_left')
      : y > 0 ? 'swipe_down' : 'swipe_up', finger, true);
  }

  /** The system took the fingers away. */
  cancel(id: number): void { this.fingers.delete(id); }

  /** In the animation frame: a finger that rests becomes a hold. */
  step(nowMs: number): void {
    const [finger] = this.fingers.values();
    if (!finger || this.many || this.held || this.fingers.size !== 1) return;
    if (nowMs - finger.since < HOLD_MS || this.moved(finger)) return;
    this.held = true;
    this.one('hold', finger, false);
  }

  private moved(f: Finger): boolean { return Math.hypot(f.last.x - f.first.x, f.last.y - f.first.y) > STILL; }
  private apart(): number {
    const [a, b] = [...this.fingers.values()];
    return a && b ? Math.hypot(a.last.x - b.last.x, a.last.y - b.last.y) : 0;
  }
  private one(name: Gesture['name'], f: Finger, ended: boolean): void {
    this.tell({ name, position: [f.last.x, f.last.y], delta: [f.last.x - f.first.x, f.last.y - f.first.y], ended });
  }
  private two(ended: boolean): void {
    const [a, b] = [...this.fingers.values()];
    if (!a || !b) return;
    const mid = (p: Point, q: Point): [number, number] => [(p.x + q.x) / 2, (p.y + q.y) / 2];
    const now = mid(a.last, b.last), first = mid(a.first, b.first);
    this.tell({ name: 'two_finger', position: now, delta: [now[0] - first[0], now[1] - first[1]],
      scale: this.spread > 0 ? this.apart() / this.spread : 1, ended });
  }
}
