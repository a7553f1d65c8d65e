import type { Performer } from './performer.js';
import { element, make, title } from './page.js';

// The chosen character's extras (jiggle, muscles, cloth, plugins): a switch each, for this stream
// alone, and what each costs the server in a tick.

const off = new WeakMap<Performer, Set<string>>();

export class ExtrasPanel {
  private shown: string[] | null = null;
  private readonly costs = new Map<string, HTMLElement>();

  /** Of this character; nothing where it has none. */
  show(performer: Performer | null): void {
    const extras = performer?.extras ?? [];
    if (extras === this.shown) return;
    this.shown = extras;
    this.costs.clear();
    element('extras-section').hidden = extras.length === 0;
    element('extras').replaceChildren(...extras.map((name) => this.line(performer!, name)));
  }

  /** The server's notice, once a second: {name: microseconds a tick}. */
  tell(text: string): void {
    let told: unknown;
    try {
      told = JSON.parse(text);
    } catch {
      return;
    }
    for (const [name, us] of Object.entries(told as Record<string, unknown>)) {
      const output = this.costs.get(name);
      if (output && typeof us === 'number') output.textContent = `${us.toFixed(us < 10 ? 1 : 0)} µs`;
    }
  }

  private line(performer: Performer, name: string): HTMLElement {
    let without = off.get(performer);
    if (!without) off.set(performer, without = new Set());
    const input = make('input', { type: 'checkbox', checked: !without.has(name) });
    input.addEventListener('change', () => {
      if (input.checked) without.delete(name);
      else without.add(name);
      performer.client.control({ extras: { [name]: input.checked } });
    });
    const cost = make('output', { className: 'cost', title: 'what it costs the server in a tick' }, '');
    this.costs.set(name, cost);
    return make('label', { className: 'check extra' }, input, make('span', {}, title(name)), cost);
  }
}
