import type { Performer } from './performer.js';
import { make } from './page.js';

// A strip for each root of a character with several: its clip, speed and weight, changed while it
// runs. The other roots go on undisturbed.

interface Strip { clip: string; speed: number; weight: number; mirrored: boolean }
const strips = new WeakMap<Performer, Map<string, Strip>>();

function stripOf(performer: Performer, root: string): Strip {
  let all = strips.get(performer);
  if (!all) strips.set(performer, all = new Map());
  let strip = all.get(root);
  if (!strip) all.set(root, strip = { clip: '', speed: 1, weight: 1, mirrored: false });
  return strip;
}

function slider(name: string, value: number, max: number, change: (value: number) => void): HTMLElement {
  const output = make('output', {}, value.toFixed(1));
  const input = make('input', { type: 'range', min: '0', max: String(max), step: '0.05', value: String(value) });
  input.addEventListener('input', () => {
    output.textContent = Number(input.value).toFixed(1);
    change(Number(input.value));
  });
  return make('label', { className: 'slider' }, make('span', {}, name), input, output);
}

function check(name: string, className: string, checked: boolean, change: (checked: boolean) => void): HTMLElement {
  const input = make('input', { type: 'checkbox', checked });
  input.addEventListener('change', () => change(input.checked));
  return make('label', { className: `check ${className}` }, input, make('span', {}, name));
}

// One at a time: the next one switched on takes the place of the last.
function tableSwitch(performer: Performer, root: string): HTMLElement {
  const label = check('Show what it moves', 'table', performer.painted === root, (checked) => {
    for (const input of document.querySelectorAll<HTMLInputElement>('.check.table input')) input.checked = false;
    label.querySelector('input')!.checked = checked;
    performer.paint(checked ? root : '');
  });
  return label;
}

/** The strips of the chosen character; empty for one root. */
export function mixerOf(performer: Performer): HTMLElement[] {
  return performer.roots.map((root, index) => {
    const strip = stripOf(performer, root);
    const send = (part: Partial<Strip>) => {
      performer.client.control({ roots: [{ root, ...part }] });
    };
    const clips = make('select', { ariaLabel: `Clip of ${root}` }, make('option', { value: '' }, 'as the whole'));
    for (const clip of performer.clips) clips.append(make('option', { value: clip, selected: clip === strip.clip }, clip));
    clips.addEventListener('change', () => {
      strip.clip = clips.value;
      clips.options[0]!.disabled = true; // a root that has had a clip keeps one
      send({ clip: strip.clip, speed: strip.speed, weight: strip.weight });
    });
    const speed = slider('Speed', strip.speed, 2, (value) => send({ speed: strip.speed = value }));
    const parts: HTMLElement[] = [clips, speed];
    // The first root takes what the others give up: it has no weight of its own.
    if (index > 0) parts.push(slider('Weight', strip.weight, 1, (value) => send({ weight: strip.weight = value })));
    parts.push(check('Mirrored', 'side', strip.mirrored, (mirrored) => send({ mirrored: strip.mirrored = mirrored })));
    if (performer.hasTable(root)) parts.push(tableSwitch(performer, root));
    return make('fieldset', { className: 'strip' }, make('legend', {}, root), ...parts);
  });
}
