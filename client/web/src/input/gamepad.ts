import { stick, type Controls, type Pair } from './controls.js';

// Gamepads by the W3C's standard mapping: 17 buttons, 4 axes. Of several, the one that was touched
// last. Others than standard ones give their first stick and their buttons by number.

const LEFT_TRIGGER = 6, RIGHT_TRIGGER = 7, PRESSED = 0.5, AWAKE = 0.3;

export class Gamepads {
  private index = -1;
  private readonly pressed = new Set<number>();

  constructor(private readonly list: () => readonly (Gamepad | null)[], private readonly controls: () => Controls | null) {}

  /** In the animation frame. Returns the right stick, for the camera; null: nothing was touched. */
  poll(): Pair | null {
    const pads = [...this.list()].filter((pad): pad is Gamepad => !!pad?.connected), controls = this.controls();
    const touched = pads.find((pad) => pad.index !== this.index && this.isTouched(pad));
    if (touched || !pads.some((pad) => pad.index === this.index)) {
      if (this.index >= 0) this.letGo(controls);
      this.index = touched?.index ?? -1;
    }
    const pad = pads.find((p) => p.index === this.index);
    if (!pad || !controls) return null;
    const [x = 0, y = 0, turn = 0, tilt = 0] = pad.axes, [right, down] = stick(x, y), standard = pad.mapping === 'standard';
    controls.setMove('gamepad', right, -down);
    if (standard) controls.setTriggers('gamepad', pad.buttons[LEFT_TRIGGER]?.value ?? 0, pad.buttons[RIGHT_TRIGGER]?.value ?? 0);
    pad.buttons.forEach((button, i) => {
      const is = button.pressed || button.value > PRESSED;
      if (is === this.pressed.has(i)) return;
      if (is) {
        this.pressed.add(i);
        controls.down(`gamepad:button${i}`);
      } else {
        this.pressed.delete(i);
        controls.up(`gamepad:button${i}`);
      }
    });
    const look = standard ? stick(turn, tilt) : [0, 0] as Pair;
    return right || down || look[0] || look[1] || this.pressed.size ? look : null;
  }

  private isTouched(pad: Gamepad): boolean {
    return pad.buttons.some((b) => b.pressed || b.value > PRESSED) || pad.axes.some((a) => Math.abs(a) > AWAKE && Math.abs(a) <= 1.01);
  }
  private letGo(controls: Controls | null): void {
    this.pressed.clear();
    controls?.releaseAll('gamepad');
  }
}
