import type { Controls } from './controls.js';

// Keys by where they are on the board (KeyboardEvent.code), so that WASD is a square on every
// layout. Arrows and WASD move, at a walk; Shift makes it a run.

const WALK = 0.5;
const WAYS: Record<string, [number, number]> = {
  KeyW: [0, 1], KeyS: [0, -1], KeyA: [-1, 0], KeyD: [1, 0],
  ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0],
};

export class Keyboard {
  private readonly keys = new Set<string>();
  private fast = false;

  constructor(private readonly controls: () => Controls | null) {}

  isMove(code: string): boolean { return code in WAYS && !this.controls()?.bindings.has(`key:${code}`); }

  /** True: the key was for the character. */
  onDown(e: Pick<KeyboardEvent, 'code' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey'>): boolean {
    const controls = this.controls();
    if (!controls || e.ctrlKey || e.metaKey || e.altKey) return false;
    this.fast = e.shiftKey;
    const moves = this.isMove(e.code);
    if (moves) this.keys.add(e.code);
    this.move(controls);
    return moves || controls.down(`key:${e.code}`);
  }
  onUp(e: Pick<KeyboardEvent, 'code' | 'shiftKey'>): void {
    const controls = this.controls();
    this.fast = e.shiftKey;
    this.keys.delete(e.code);
    if (!controls) return;
    this.move(controls);
    controls.up(`key:${e.code}`);
  }
  /** The focus is elsewhere: key releases will not come. */
  forget(): void {
    this.keys.clear();
    this.controls()?.releaseAll('key');
  }

  private move(controls: Controls): void {
    let x = 0, y = 0;
    for (const key of this.keys) {
      x += WAYS[key]![0];
      y += WAYS[key]![1];
    }
    const size = Math.hypot(x, y), scale = size > 0 ? (this.fast ? 1 : WALK) / size : 0;
    controls.setMove('key', x * scale, y * scale);
  }
}
