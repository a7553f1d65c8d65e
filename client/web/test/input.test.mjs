import assert from 'node:assert/strict';
import { test } from 'node:test';

const { actionName, Controls, Gamepads, Gestures, inputName, Keyboard, readBindings, stick } = await import(process.env.SINEW_CLIENT);

function controls(bindings = { 'key:KeyE': 'wave', 'key:KeyR': 'wave', 'gamepad:button0': 'jump', 'mouse:button0': 'goto', 'touch:tap': 'wave' }) {
  const said = [];
  const made = new Controls({
    control: (c) => said.push(c), press: (name) => said.push(`+${name}`), release: (name) => said.push(`-${name}`),
    gesture: (name) => said.push(`~${name}`),
  });
  made.bindings = readBindings(bindings);
  return { made, said };
}
const key = (code, shiftKey = false) => ({ code, shiftKey, ctrlKey: false, metaKey: false, altKey: false });

test('bindings: what is none is left out, nothing means the usual ones', () => {
  assert.equal(readBindings(null).get('mouse:button0'), 'goto');
  assert.equal(readBindings([1]).get('touch:tap'), 'goto');
  const read = readBindings({ 'key:KeyE': 'wave', 'key:': 'x', nonsense: 'x', 'mouse:button0': 5, 'gamepad:button3': '' });
  assert.deepEqual([...read], [['key:KeyE', 'wave']]);
});

test('inputs and actions as people call them', () => {
  assert.equal(inputName('key:KeyE'), 'E');
  assert.equal(inputName('key:Digit1'), '1');
  assert.equal(inputName('key:ArrowUp'), 'Arrow Up');
  assert.equal(inputName('gamepad:button0'), 'Gamepad A');
  assert.equal(inputName('mouse:button0'), 'Click');
  assert.equal(inputName('touch:swipe_up'), 'Swipe up');
  assert.equal(actionName('raise_hand'), 'Raise hand');
});

test('a key that repeats is one press; two keys of one action let go with the last', () => {
  const { made, said } = controls();
  for (const input of ['key:KeyE', 'key:KeyE', 'key:KeyR']) made.down(input);
  made.up('key:KeyE');
  made.up('key:KeyR');
  made.up('key:KeyR');
  assert.deepEqual(said, ['+wave', '+wave', '-wave']);
  assert.equal(made.down('mouse:button0'), false); // goto is the page's
  assert.equal(made.down('key:KeyZ'), false);
});

test('devices add up to a stick at most, a rest is sent at once, the rest in its time', () => {
  const { made, said } = controls();
  made.setMove('key', 0, 1);
  made.setMove('gamepad', 1, 1);
  made.flush(1000);
  const [x, y] = said.at(-1).move;
  assert.ok(Math.abs(Math.hypot(x, y) - 1) < 1e-12 && x > 0 && y > 0);
  made.setMove('gamepad', 0.5, 0);
  made.flush(1005);
  assert.equal(said.length, 1); // too soon
  made.flush(1020);
  assert.equal(said.length, 2);
  made.releaseAll();
  made.flush(1021);
  assert.deepEqual(said.at(-1), { move: [0, 0] });
  made.flush(2000);
  assert.equal(said.length, 3); // nothing new
});

test('what is no number never leaves', () => {
  const { made, said } = controls();
  made.setMove('gamepad', NaN, Infinity);
  made.setTriggers('gamepad', -3, NaN);
  made.goTo(NaN, 1);
  made.setView(0, 0, 0);
  made.flush(1000);
  assert.deepEqual(said, []);
});

test('the view goes along with who moves, and when it has turned', () => {
  const { made, said } = controls();
  made.setView(0, 0, -2);
  made.flush(1000);
  assert.deepEqual(said, []); // nobody steers yet
  made.setMove('key', 0, 0.5);
  made.flush(1100);
  assert.deepEqual(said.at(-1).view, [0, 0, -1]);
  made.setView(0.001, 0, -1);
  made.flush(1200);
  assert.equal(said.length, 1);
  made.setView(1, 0, -1);
  made.flush(1300);
  assert.equal(said.length, 2);
});

test('keyboard: diagonals are no faster, Shift runs, losing the focus lets go', () => {
  const { made, said } = controls(), keyboard = new Keyboard(() => made);
  assert.ok(keyboard.onDown(key('KeyW')) && keyboard.onDown(key('ArrowRight')));
  made.flush(1000);
  assert.ok(Math.abs(Math.hypot(...said.at(-1).move) - 0.5) < 1e-12);
  keyboard.onDown(key('ShiftLeft', true));
  made.flush(1100);
  assert.ok(Math.abs(Math.hypot(...said.at(-1).move) - 1) < 1e-12);
  assert.ok(keyboard.onDown(key('KeyE')));
  assert.equal(keyboard.onDown({ ...key('KeyE'), ctrlKey: true }), false); // the browser's own
  keyboard.forget();
  made.flush(1200);
  assert.deepEqual(said.slice(-2), ['-wave', { move: [0, 0] }]);
});

test('keyboard: a move key that is bound means what it is bound to', () => {
  const { made, said } = controls({ 'key:KeyW': 'wave' }), keyboard = new Keyboard(() => made);
  keyboard.onDown(key('KeyW'));
  made.flush(1000);
  assert.deepEqual(said, ['+wave']);
});

test('sticks: nothing inside the dead zone, all at the rim, the same every way', () => {
  assert.deepEqual(stick(0.1, 0.1), [0, 0]);
  for (let a = 0; a < 6.28; a += 0.3) {
    assert.ok(Math.abs(Math.hypot(...stick(Math.cos(a), Math.sin(a))) - 1) < 1e-9);
    assert.ok(Math.hypot(...stick(0.16 * Math.cos(a), 0.16 * Math.sin(a))) < 0.02); // no step at its edge
  }
  assert.deepEqual(stick(NaN, 1), [0, 0]);
});

test('gamepads: the one that was touched last; one that goes lets go; others than standard give a stick', () => {
  const { made, said } = controls();
  const pad = (index, mapping = 'standard') => ({ index, connected: true, mapping, axes: [0, 0, 0, 0],
    buttons: Array.from({ length: 17 }, () => ({ pressed: false, value: 0 })) });
  let pads = [pad(0), null, pad(2, '')];
  const gamepads = new Gamepads(() => pads, () => made);
  assert.equal(gamepads.poll(), null); // nobody has touched one
  pads[0].buttons[0] = { pressed: true, value: 1 };
  pads[0].axes = [0, -1, 0.9, 0];
  assert.ok(gamepads.poll()[0] > 0.8);
  made.flush(1000);
  assert.deepEqual(said[0], '+jump');
  assert.ok(Math.abs(said[1].move[1] - 1) < 1e-9);
  pads = [null, null, pads[2]];
  gamepads.poll();
  made.flush(1100);
  assert.deepEqual(said.slice(2), ['-jump', { move: [0, 0] }]);
  pads[2].axes = [0, 0.9, 1, 1]; // no standard mapping: its third axis may be anything
  assert.deepEqual(gamepads.poll(), [0, 0]);
});

test('fingers: tap, hold, drag, swipes, two fingers', () => {
  const told = [], gestures = new Gestures(({ name, ended }) => told.push(ended ? name : `${name}…`));
  const stroke = (from, to, ms) => {
    gestures.down(1, from, 0);
    if (to) gestures.move(1, to);
    gestures.step(ms);
    gestures.up(1, ms);
    return told.splice(0);
  };
  assert.deepEqual(stroke({ x: 0.5, y: 0.5 }, null, 100), ['tap']);
  assert.deepEqual(stroke({ x: 0.5, y: 0.5 }, null, 600), ['hold…', 'hold']);
  assert.deepEqual(stroke({ x: 0.5, y: 0.5 }, { x: 0.8, y: 0.5 }, 200), ['drag…', 'swipe_right']);
  assert.deepEqual(stroke({ x: 0.5, y: 0.5 }, { x: 0.5, y: 0.2 }, 200), ['drag…', 'swipe_up']);
  assert.deepEqual(stroke({ x: 0.5, y: 0.5 }, { x: 0.8, y: 0.5 }, 900), ['drag…', 'drag']);
  gestures.down(1, { x: 0.4, y: 0.5 }, 0);
  gestures.down(2, { x: 0.6, y: 0.5 }, 10);
  gestures.move(2, { x: 0.8, y: 0.5 });
  gestures.up(1, 200);
  gestures.up(2, 250); // the second finger that leaves is no tap
  assert.deepEqual(told.splice(0), ['two_finger…', 'two_finger']);
  gestures.down(1, { x: 0.4, y: 0.5 }, 0);
  gestures.cancel(1);
  gestures.up(1, 50);
  assert.deepEqual(told, []);
});
