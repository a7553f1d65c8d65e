import { actionName, inputName, type Bindings } from '../input/bindings.js';
import { element, make, notify } from './page.js';

// What the chosen character's keys, buttons and gestures do.

const ALWAYS: [string[], string][] = [
  [['W A S D', 'Arrows', 'Left stick'], 'Move'], [['Shift'], 'Run'], [['Mouse', 'Right stick'], 'Look around'],
];

export class HelpCard {
  private readonly card = element('help-card');
  private readonly look = element<HTMLButtonElement>('mouse-look');

  constructor(lock: () => void) {
    this.card.querySelector('details')!.open = innerWidth > 720; // on a phone it would hide the character
    this.look.addEventListener('click', lock);
    this.look.hidden = !('requestPointerLock' in Element.prototype) || matchMedia('(pointer: coarse)').matches;
  }

  show(bindings: Bindings | null): void {
    this.card.hidden = !bindings;
    if (!bindings) return;
    const byAction = new Map<string, string[]>();
    for (const [input, action] of bindings) byAction.set(action, [...(byAction.get(action) ?? []), inputName(input)]);
    const rows = [...ALWAYS, ...[...byAction].map(([action, inputs]): [string[], string] => [inputs, actionName(action)])];
    element('help-list').replaceChildren(...rows.flatMap(([inputs, text]) => [
      make('dt', {}, ...inputs.flatMap((name, i) => [...(i ? [' '] : []), make('kbd', {}, name)])), make('dd', {}, text)]));
  }

  locked(is: boolean): void {
    this.look.setAttribute('aria-pressed', String(is));
    if (is) notify('The mouse looks around. Escape gives it back.');
  }
  refused(): void { notify('The browser did not give the mouse away. Click the picture and try again.'); }
}
