import type { Parameter } from '../proto/session.js';
import { element, make, notify, title } from './page.js';
import { isBone } from './look.js';
import type { Performer } from './performer.js';

// The panel that makes a character one's own: sliders by part, the recipe, expressions, gaze.

const BONES = 'Single bones';
const text = (p: Parameter, value: number): string =>
  p.options.length ? fileTitle(p.options[Math.round(value)] ?? '') : value.toFixed(2);
// "mira.eye.teal.png" → "Teal"
const fileTitle = (file: string): string => title(file.replace(/^.*\//, '').replace(/\.[a-z0-9]+$/i, '').split('.').pop() ?? file);

export class Dresser {
  private shown: Performer | null = null;
  private list: Parameter[] | null = null;
  private readonly rows = new Map<string, () => void>(); // by parameter: shows its value
  private readonly open = new Map<string, boolean>(); // groups, by name

  constructor() {
    const on = (id: string, step: () => void): void => element(id).addEventListener('click', step);
    on('dress-reset', () => this.change(() => this.shown!.look.reset(), 'Back to how it came.'));
    on('dress-random', () => this.change(() => this.shown!.look.random(), 'Somebody else.'));
    on('recipe-copy', () => void this.copy());
    on('recipe-use', () => this.use(this.field.value));
    on('gaze-reset', () => this.look(0, 0));
    this.field.addEventListener('paste', (e) => {
      const pasted = e.clipboardData?.getData('text') ?? '';
      if (!pasted.trim().startsWith('{')) return;
      e.preventDefault();
      this.field.value = pasted;
      this.use(pasted);
    });
    for (const axis of [this.across, this.up]) {
      axis.addEventListener('input', () => this.look(Number(this.across.value), Number(this.up.value)));
    }
  }

  /** Of another character, or of the same with other parameters: anew. Else nothing is touched. */
  show(performer: Performer | null): void {
    const list = performer?.look.parameters ?? [];
    if (performer === this.shown && list === this.list) return;
    this.shown = performer;
    this.list = list;
    this.rows.clear();
    this.showGroups(list.filter((p) => p.kind !== 'expression'));
    this.showExpressions();
    element('dress-section').hidden = !list.some((p) => p.kind !== 'expression');
    element('gaze-section').hidden = !performer?.canGaze;
    this.across.value = String(performer?.gaze[0] ?? 0);
    this.up.value = String(performer?.gaze[1] ?? 0);
    this.field.value = '';
  }

  // ---- sliders ----

  private showGroups(parameters: Parameter[]): void {
    const groups = new Map<string, Parameter[]>();
    for (const p of parameters) {
      const name = isBone(p) ? BONES : title(p.group || 'other');
      groups.set(name, [...groups.get(name) ?? [], p]);
    }
    const bones = groups.get(BONES);
    if (groups.delete(BONES)) groups.set(BONES, bones!); // last
    const parts = [...groups].map(([name, list], i) => {
      const part = make('details', { className: 'part', open: this.open.get(name) ?? i === 0 },
        make('summary', {}, name), ...list.map((p) => this.row(p)));
      part.addEventListener('toggle', () => this.open.set(name, part.open));
      return part;
    });
    element('dress').replaceChildren(...parts);
  }

  private row(p: Parameter): HTMLElement {
    const look = this.shown!.look, name = title(p.name);
    if (p.options.length) {
      const select = make('select', {}, ...p.options.map((o, i) => make('option', { value: String(i) }, fileTitle(o))));
      select.addEventListener('change', () => look.set(p.name, Number(select.value)));
      this.keep(p, () => { select.value = String(Math.round(look.valueOf(p))); });
      return make('label', { className: 'slider' }, make('span', {}, name), select);
    }
    const output = make('output', {}), input = make('input', { type: 'range', min: String(p.low), max: String(p.high),
      step: String((p.high - p.low) / 200) });
    const say = (): void => {
      output.textContent = text(p, Number(input.value));
      input.setAttribute('aria-valuetext', output.textContent);
    };
    input.addEventListener('input', () => {
      look.set(p.name, Number(input.value));
      say();
    });
    input.addEventListener('dblclick', () => this.change(() => look.set(p.name, p.neutral)));
    this.keep(p, () => {
      input.value = String(look.valueOf(p));
      say();
    });
    return make('label', { className: 'slider', title: p.name }, make('span', {}, name), input, output);
  }

  private keep(p: Parameter, show: () => void): void {
    this.rows.set(p.name, show);
    show();
  }

  private change(step: () => void, said = ''): void {
    if (!this.shown) return;
    step();
    for (const show of this.rows.values()) show();
    if (said) notify(said);
  }

  // ---- the recipe ----

  private get field(): HTMLTextAreaElement { return element<HTMLTextAreaElement>('recipe'); }

  private async copy(): Promise<void> {
    if (!this.shown) return;
    this.field.value = this.shown.look.recipe(this.shown.character);
    this.field.select();
    // Without leave or a secure page there is no clipboard: the text stands there, selected.
    const copied = await navigator.clipboard?.writeText(this.field.value).then(() => true, () => false);
    notify(copied ? 'The recipe is in the clipboard.' : 'The recipe is selected: copy it.');
  }

  private use(recipe: string): void {
    if (!this.shown) return;
    try {
      const said = this.shown.look.apply(recipe, this.shown.character);
      this.change(() => undefined, said || 'The recipe is on.');
    } catch (e) {
      notify((e as Error).message);
    }
  }

  // ---- expressions and gaze ----

  private showExpressions(): void {
    const performer = this.shown, buttons: HTMLElement[] = [];
    const add = (name: string, value: () => number, set: (on: boolean) => void): void => {
      const button = make('button', { type: 'button', title: name }, title(name));
      const say = (): void => button.setAttribute('aria-pressed', String(value() > 0));
      button.addEventListener('click', () => {
        set(value() === 0);
        say();
      });
      say();
      buttons.push(button);
    };
    for (const p of performer?.look.parameters ?? []) {
      if (p.kind === 'expression') add(p.name, () => performer!.look.valueOf(p), (on) => performer!.look.set(p.name, on ? p.high : p.neutral));
    }
    for (const name of performer?.expressions ?? []) {
      add(name, () => performer!.weights.get(name) ?? 0, (on) => performer!.shape(name, on ? 1 : 0));
    }
    element('expressions').replaceChildren(...buttons);
    element('expressions-section').hidden = buttons.length === 0;
  }

  private get across(): HTMLInputElement { return element<HTMLInputElement>('gaze-across'); }
  private get up(): HTMLInputElement { return element<HTMLInputElement>('gaze-up'); }

  private look(across: number, up: number): void {
    this.across.value = String(across);
    this.up.value = String(up);
    this.across.setAttribute('aria-valuetext', across === 0 ? 'ahead' : `${Math.round(Math.abs(across) * 100)} % ${across > 0 ? 'right' : 'left'}`);
    this.up.setAttribute('aria-valuetext', up === 0 ? 'level' : `${Math.round(Math.abs(up) * 100)} % ${up > 0 ? 'up' : 'down'}`);
    this.shown?.gazeAt(across, up);
  }
}
