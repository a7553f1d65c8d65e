import { actionName, GOTO, type Bindings } from '../input/bindings.js';
import type { Controls } from '../input/controls.js';
import { element, make } from './page.js';

// A stick and buttons on the screen, for fingers.

const BUTTONS_MAX = 5, RUN = 0.96; // the stick's rim is a run, short of it a walk

export class TouchPad {
  private readonly root = element('touch-pad');
  private readonly base = element('touch-stick');
  private readonly knob = element('touch-knob');
  private readonly wanted = matchMedia('(pointer: coarse)');
  private finger: number | null = null;

  constructor(private readonly controls: () => Controls | null) {
    this.base.addEventListener('pointerdown', (e) => {
      this.finger = e.pointerId;
      this.base.setPointerCapture(e.pointerId);
      this.move(e);
    });
    this.base.addEventListener('pointermove', (e) => { if (e.pointerId === this.finger) this.move(e); });
    for (const type of ['pointerup', 'pointercancel', 'lostpointercapture'] as const) {
      this.base.addEventListener(type, (e) => { if (e.pointerId === this.finger) this.forget(); });
    }
  }

  show(bindings: Bindings | null): void {
    this.root.hidden = !bindings || !this.wanted.matches;
    if (!bindings || this.root.hidden) return;
    const actions = [...new Set(bindings.values())].filter((action) => action !== GOTO).slice(0, BUTTONS_MAX);
    element('touch-buttons').replaceChildren(...actions.map((action) => {
      const input = [...bindings].find(([, a]) => a === action)![0];
      const button = make('button', { type: 'button' }, actionName(action));
      button.addEventListener('pointerdown', () => void this.controls()?.down(input));
      for (const type of ['pointerup', 'pointercancel', 'pointerleave'] as const) {
        button.addEventListener(type, () => void this.controls()?.up(input));
      }
      button.addEventListener('click', (e) => { // by keyboard or a screen reader: there was no pointer
        if (e.detail === 0 && this.controls()?.down(input)) this.controls()!.up(input);
      });
      return button;
    }));
  }

  forget(): void {
    this.finger = null;
    this.knob.style.transform = '';
    this.controls()?.setMove('touch', 0, 0);
  }

  private move(e: PointerEvent): void {
    const box = this.base.getBoundingClientRect(), radius = box.width / 2;
    let x = (e.clientX - box.left - radius) / radius, y = (e.clientY - box.top - radius) / radius;
    const size = Math.hypot(x, y);
    if (size > 1) [x, y] = [x / size, y / size];
    this.knob.style.transform = `translate(${x * radius * 0.55}px, ${y * radius * 0.55}px)`;
    const fast = size >= RUN ? 1 : 0.55;
    this.controls()?.setMove('touch', size < 0.12 ? 0 : x * fast, size < 0.12 ? 0 : -y * fast);
  }
}
