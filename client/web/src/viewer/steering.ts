import * as THREE from 'three';
import { Gamepads } from '../input/gamepad.js';
import { Gestures, type Gesture } from '../input/gestures.js';
import { Keyboard } from '../input/keyboard.js';
import { GOTO } from '../input/bindings.js';
import type { Performer } from './performer.js';
import { HelpCard } from './help_card.js';
import { element } from './page.js';
import type { Stage } from './stage.js';
import { TouchPad } from './touch_pad.js';

// Steering the chosen character: WASD and arrows, mouse, fingers, gamepads. The camera is this
// page's own; where it looks is what the character takes for forward.

const HOLD_MS = 350, STILL_PX = 6, MOUSE_TURN = 0.0028, STICK_TURN = 2.4;

export class Steering {
  on = false;
  private readonly keyboard = new Keyboard(() => this.controls);
  private readonly gamepads = new Gamepads(() => navigator.getGamepads?.() ?? [], () => this.performer()?.controls ?? null);
  private readonly gestures = new Gestures((gesture) => this.onGesture(gesture));
  private readonly help: HelpCard;
  private readonly pad: TouchPad;
  private readonly ray = new THREE.Raycaster();
  private readonly floor = new THREE.Plane(new THREE.Vector3(0, 1, 0), 0);
  private pointer: { id: number; button: number; x: number; y: number; since: number; leads: boolean } | null = null;
  private restPitch = 0;

  constructor(private readonly stage: Stage, private readonly canvas: HTMLCanvasElement,
              private readonly performer: () => Performer | null, private readonly changed: () => void) {
    this.help = new HelpCard(() => void this.lock());
    this.pad = new TouchPad(() => this.controls);
    element('steer').addEventListener('click', () => this.set(!this.on));
    addEventListener('keydown', (e) => this.onKeyDown(e), { capture: true });
    addEventListener('keyup', (e) => this.keyboard.onUp(e));
    addEventListener('blur', () => this.letGo());
    document.addEventListener('visibilitychange', () => { if (document.hidden) this.letGo(); });
    document.addEventListener('pointerlockchange', () => this.help.locked(this.isLocked));
    canvas.addEventListener('pointerdown', (e) => this.onPointerDown(e));
    addEventListener('pointermove', (e) => this.onPointerMove(e));
    addEventListener('pointerup', (e) => this.onPointerUp(e));
    addEventListener('pointercancel', (e) => this.onPointerCancel(e));
    canvas.addEventListener('contextmenu', (e) => { if (this.on) e.preventDefault(); });
  }

  set(on: boolean): void {
    if (on && !this.performer()) return;
    if (on !== this.on) this.restPitch = this.pitch();
    if (!on) this.letGo();
    this.on = on;
    if (on) this.performer()!.player.clip = null; // a clip that plays would drive the pose
    if (!on && this.isLocked) document.exitPointerLock();
    element('steer').setAttribute('aria-pressed', String(on));
    this.refresh();
    this.changed();
  }

  /** Another character is chosen, or the bindings have come. */
  refresh(): void {
    const performer = this.performer();
    if (!performer && this.on) return this.set(false);
    this.help.show(this.on ? performer!.controls.bindings : null);
    this.pad.show(this.on ? performer!.controls.bindings : null);
  }

  /** In the animation frame. */
  step(nowMs: number, seconds: number): void {
    const look = this.gamepads.poll();
    if (look) {
      if (!this.on) this.set(true);
      this.stage.look(-look[0] * STICK_TURN * seconds, -look[1] * STICK_TURN * seconds);
    }
    this.gestures.step(nowMs);
    const p = this.pointer;
    if (p && !p.leads && p.button === 0 && nowMs - p.since >= HOLD_MS && this.goes('mouse:button0')) {
      p.leads = true; // the character follows the pointer from here on, not the camera
      this.stage.controls.enabled = false;
    }
    if (p?.leads) this.goTo(p.x, p.y);
    const performer = this.performer();
    if (!performer) return;
    if (this.on) this.sendView(performer);
    if (performer.client.state === 'open') performer.controls.flush(nowMs);
  }

  private get controls() { return this.on ? this.performer()?.controls ?? null : null; }
  private get isLocked(): boolean { return document.pointerLockElement === this.canvas; }
  private goes(input: string): boolean { return this.performer()?.controls.bindings.get(input) === GOTO; }

  private letGo(): void {
    this.keyboard.forget();
    this.performer()?.controls.releaseAll();
    this.pad.forget();
    this.endPointer();
  }

  // ---- keys ----

  private onKeyDown(e: KeyboardEvent): void {
    const target = e.target as HTMLElement;
    if (target.closest('input, select, textarea, dialog, [contenteditable]')) return;
    if ((e.code === 'Space' || e.code === 'Enter') && target.closest('button, a')) return;
    if (e.code === 'Escape' && this.on && !this.isLocked) return this.set(false);
    if (!this.on && /^Key[WASD]$/.test(e.code) && !e.ctrlKey && !e.metaKey && !e.altKey) this.set(true);
    if (!this.keyboard.onDown(e)) return;
    e.preventDefault();
    e.stopPropagation(); // arrows turn the view only while nobody steers
  }

  // ---- mouse and fingers ----

  private async lock(): Promise<void> {
    this.canvas.focus();
    await Promise.resolve(this.canvas.requestPointerLock()).catch(() => this.help.refused());
  }

  private at(e: PointerEvent): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    return { x: (e.clientX - box.left) / box.width, y: (e.clientY - box.top) / box.height };
  }

  private onPointerDown(e: PointerEvent): void {
    if (e.pointerType === 'touch') return this.gestures.down(e.pointerId, this.at(e), performance.now());
    if (this.isLocked) {
      if (!this.controls?.down(`mouse:button${e.button}`) && this.goes(`mouse:button${e.button}`)) this.goTo(innerWidth / 2, innerHeight / 2);
      return;
    }
    this.pointer = { id: e.pointerId, button: e.button, x: e.clientX, y: e.clientY, since: performance.now(), leads: false };
    this.controls?.down(`mouse:button${e.button}`);
  }

  private onPointerMove(e: PointerEvent): void {
    if (e.pointerType === 'touch') return this.gestures.move(e.pointerId, this.at(e));
    if (this.isLocked) return this.stage.look(-e.movementX * MOUSE_TURN, -e.movementY * MOUSE_TURN);
    const p = this.pointer;
    if (!p || e.pointerId !== p.id) return;
    if (p.leads) [p.x, p.y] = [e.clientX, e.clientY];
    else if (Math.hypot(e.clientX - p.x, e.clientY - p.y) > STILL_PX) this.pointer = null; // it turns the view
  }

  private onPointerUp(e: PointerEvent): void {
    if (e.pointerType === 'touch') return this.gestures.up(e.pointerId, performance.now());
    this.controls?.up(`mouse:button${e.button}`);
    const p = this.pointer;
    if (!p || p.id !== e.pointerId) return;
    if (!p.leads && this.goes(`mouse:button${e.button}`)) this.goTo(e.clientX, e.clientY);
    this.endPointer();
  }

  private onPointerCancel(e: PointerEvent): void {
    this.gestures.cancel(e.pointerId);
    if (this.pointer?.id === e.pointerId) this.endPointer();
  }

  private endPointer(): void {
    if (this.pointer?.leads) this.stage.controls.enabled = true;
    this.pointer = null;
  }

  private onGesture(g: Gesture): void {
    const performer = this.performer();
    if (!performer) return;
    const [x, y] = [g.position[0] * innerWidth, g.position[1] * innerHeight];
    const input = `touch:${g.name}`;
    if (g.name === 'hold' && !performer.controls.bindings.has(input)) return this.goTo(x, y); // as with the mouse
    if (g.name === 'drag' || (g.name !== 'hold' && !g.ended) || (g.name === 'hold' && g.ended)) return;
    if (this.goes(input)) return this.goTo(x, y);
    if (!this.on) return;
    const point = this.floorAt(x, y);
    performer.controls.gesture(g.name, { at: [2 * g.position[0] - 1, 1 - 2 * g.position[1]], delta: [2 * g.delta[0], -2 * g.delta[1]],
      fingers: g.name === 'two_finger' ? 2 : 1, ...(g.scale === undefined ? {} : { scale: g.scale }), ...(point ? { point } : {}) });
  }

  /** x, z in the scene and the model's unit of where the floor is seen at a place of the page. */
  private floorAt(pageX: number, pageY: number): [number, number] | null {
    const performer = this.performer(), unit = performer?.unitM ?? 0, box = this.canvas.getBoundingClientRect();
    if (!performer || !unit) return null;
    const x = (pageX - box.left) / box.width * 2 - 1, y = 1 - (pageY - box.top) / box.height * 2;
    this.ray.setFromCamera(new THREE.Vector2(x, y), this.stage.camera);
    const point = this.ray.ray.intersectPlane(this.floor, new THREE.Vector3());
    if (!point || point.distanceTo(this.stage.controls.target) > this.stage.controls.maxDistance) return null; // near the horizon
    point.sub(performer.group.position).divideScalar(unit);
    return [point.x, point.z];
  }

  private goTo(pageX: number, pageY: number): void {
    const point = this.floorAt(pageX, pageY);
    if (!point) return;
    if (!this.on) this.set(true);
    this.performer()!.controls.goTo(...point);
  }

  // ---- the camera ----

  private pitch(): number {
    return Math.asin(THREE.MathUtils.clamp(this.stage.camera.getWorldDirection(new THREE.Vector3()).y, -1, 1));
  }

  /** The camera looks down at the character from behind: level is where it looked at first. */
  private sendView(performer: Performer): void {
    const way = this.stage.camera.getWorldDirection(new THREE.Vector3()), flat = Math.hypot(way.x, way.z);
    if (flat < 1e-3) return;
    const pitch = THREE.MathUtils.clamp(this.pitch() - this.restPitch, -1.2, 1.2), level = Math.cos(pitch) / flat;
    performer.controls.setView(way.x * level, Math.sin(pitch), way.z * level);
  }
}
