// What a character's inputs mean, as WELCOME brings them: from an input ("key:KeyE",
// "gamepad:button0", "mouse:button0", "touch:tap") to an action's name, or to "goto". Moving and
// looking need no binding: WASD and arrows, the sticks; one that is bound means what it is bound to.

export const GOTO = 'goto';
export type Bindings = ReadonlyMap<string, string>;

const INPUTS = /^(key|mouse|touch|gamepad):\S+$/, MOST = 256;
const USUAL: Bindings = new Map([['mouse:button0', GOTO], ['touch:tap', GOTO]]);

/** What is no binding is left out; a server that sent none means the usual ones. */
export function readBindings(json: unknown): Bindings {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return USUAL;
  const pairs = Object.entries(json).filter((pair): pair is [string, string] =>
    INPUTS.test(pair[0]) && typeof pair[1] === 'string' && pair[1].length > 0);
  return new Map(pairs.slice(0, MOST));
}

const PAD = ['A', 'B', 'X', 'Y', 'left shoulder', 'right shoulder', 'left trigger', 'right trigger', 'back', 'start',
  'left stick', 'right stick', 'up', 'down', 'left', 'right', 'home'];
const MOUSE = ['Click', 'Middle click', 'Right click'];
const TOUCH: Record<string, string> = { tap: 'Tap', hold: 'Hold', two_finger: 'Two fingers',
  swipe_up: 'Swipe up', swipe_down: 'Swipe down', swipe_left: 'Swipe left', swipe_right: 'Swipe right' };
const words = (text: string): string => text.replace(/([a-z])([A-Z0-9])/g, '$1 $2').replace(/_/g, ' ');

/** "key:KeyE" → "E": as people call it. */
export function inputName(input: string): string {
  const [device, name] = [input.slice(0, input.indexOf(':')), input.slice(input.indexOf(':') + 1)];
  const number = Number(/\d+$/.exec(name)?.[0] ?? NaN);
  if (device === 'key') return words(name.replace(/^(Key|Digit)(?=.$)/, ''));
  if (device === 'mouse') return MOUSE[number] ?? `Mouse button ${number + 1}`;
  if (device === 'touch') return TOUCH[name] ?? words(name);
  return `Gamepad ${PAD[number] ?? name}`;
}

/** "raise_hand" → "Raise hand". */
export function actionName(action: string): string {
  if (action === GOTO) return 'Go there';
  const text = words(action);
  return text.charAt(0).toUpperCase() + text.slice(1);
}
