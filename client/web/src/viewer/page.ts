// Small helpers over the page's elements.

export function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K, properties: Partial<HTMLElementTagNameMap[K]> = {}, ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const CROSS = 'M6 6l12 12M18 6L6 18', NS = 'http://www.w3.org/2000/svg';
export function cross(): SVGSVGElement {
  const svg = document.createElementNS(NS, 'svg'), path = document.createElementNS(NS, 'path');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  path.setAttribute('d', CROSS);
  svg.append(path);
  return svg;
}

/** "mh_cmu" → "Mh cmu": file names as people read them. */
export const title = (name: string): string => {
  const words = name.replace(/[_\s]+/g, ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

const NOTICE_MS = 6000, NOTICES_MAX = 4;
export function notify(text: string): void {
  const list = element('notices');
  for (const old of list.children) if (old.textContent === text) old.remove();
  const line = make('p', {}, text);
  list.append(line);
  while (list.children.length > NOTICES_MAX) list.firstElementChild!.remove();
  setTimeout(() => line.remove(), NOTICE_MS);
}

const round = (value: number, digits: number): string => Number.isFinite(value) ? value.toFixed(digits) : '–';

/** Three figures that count, and their unit. */
export const figure = {
  hz: (x: number) => [round(x, 0), 'fps'],
  ms: (x: number) => [round(x, x < 10 ? 1 : 0), 'ms'],
  bits: (x: number) => [round(x, 1), 'bits'],
  rate: (kbit: number) => kbit >= 1000 ? [round(kbit / 1000, 1), 'Mbit/s'] : [round(kbit, 0), 'kbit/s'],
  count: (x: number) => [String(x), ''],
} as const;

/** Shows figures in a <dl>, without making elements anew: screen readers keep their place. */
export class FigureList {
  private readonly places = new Map<string, { number: Text; unit: HTMLElement }>();
  constructor(private readonly list: HTMLElement) {}
  set(label: string, [number, unit]: readonly string[]): void {
    let place = this.places.get(label);
    if (!place) {
      place = { number: document.createTextNode(''), unit: make('small') };
      this.list.append(make('div', {}, make('dt', {}, label), make('dd', {}, place.number, place.unit)));
      this.places.set(label, place);
    }
    if (place.number.data !== number) place.number.data = number!;
    if (place.unit.textContent !== unit) place.unit.textContent = unit!;
  }
}
