import type { SinewClient } from '../client/client.js';
import type { Parameter } from '../proto/session.js';

// How a character looks: the values of its parameters, sent as they change and at every join; as a
// recipe, a small JSON text, to keep and to hand on.

export class Look {
  parameters: Parameter[] = [];
  readonly values = new Map<string, number>(); // that someone has set
  private readonly moved = new Set<string>();
  private taken: Parameter[] | null = null;

  /** `first`: a recipe for the first join. */
  constructor(private readonly client: () => SinewClient, private first?: string) {}

  valueOf(p: Parameter): number { return this.values.get(p.name) ?? p.neutral; }

  set(name: string, value: number): void {
    this.values.set(name, value);
    this.moved.add(name);
  }

  /** Back to what the character is by itself. */
  reset(kinds: Parameter['kind'][] = ['shape', 'appearance']): void {
    for (const p of this.parameters) if (kinds.includes(p.kind) && this.values.has(p.name)) this.set(p.name, p.neutral);
  }

  /** Somebody else: more near the middle of each range than at its ends. Bones by themselves stay. */
  random(random: () => number = Math.random): void {
    for (const p of this.parameters) {
      if (p.kind === 'expression' || isBone(p)) continue;
      const spread = (random() + random() + random()) / 1.5 - 1; // -1 .. 1, mostly small
      const value = p.options.length ? Math.floor(random() * p.options.length)
        : p.kind === 'appearance' ? p.low + random() * (p.high - p.low)
        : p.neutral + spread * (spread > 0 ? p.high - p.neutral : p.neutral - p.low);
      this.set(p.name, value);
    }
  }

  /** Expressions pass; they are no part of a recipe. */
  recipe(character: string): string {
    const parameters: Record<string, number> = {};
    for (const p of this.parameters) {
      if (p.kind !== 'expression' && this.values.has(p.name)) parameters[p.name] = Number(this.values.get(p.name)!.toFixed(4));
    }
    return JSON.stringify({ sinew_recipe: 1, character, parameters });
  }

  /** For HELLO: what is known before the character's list has come, too. */
  recipeForJoin(character: string): string | undefined {
    if (!this.parameters.length) return this.first;
    return this.values.size ? this.recipe(character) : undefined;
  }

  /** Takes what fits; says what does not, or '' when all does. Throws a line for people. */
  apply(text: string, character: string): string {
    const { of, values } = readRecipe(text);
    const fits = values.filter(([name]) => this.parameters.some((p) => p.name === name));
    this.reset();
    for (const [name, value] of fits) {
      const p = this.parameters.find((x) => x.name === name)!;
      this.set(name, Math.min(Math.max(value, p.low), p.high));
    }
    const left = values.length - fits.length;
    if (of && of !== character) return `The recipe is of “${of}”: ${fits.length} of its ${values.length} values fit.`;
    return left ? `${left} of the recipe’s ${values.length} values do not fit.` : '';
  }

  /** The list has come; after a join that carried the first recipe, its values stand. */
  list(parameters: Parameter[]): void {
    this.parameters = parameters;
    if (this.first && !this.taken) {
      try {
        for (const [name, value] of readRecipe(this.first).values) {
          if (parameters.some((p) => p.name === name)) this.values.set(name, value);
        }
      } catch { /* the server has said so */ }
    }
    this.taken = parameters;
  }

  /** Once a drawn frame: a slider gives more events than there are frames. */
  step(): void {
    if (!this.moved.size || this.client().state !== 'open') return;
    this.client().customise(Object.fromEntries([...this.moved].map((name) => [name, this.values.get(name)!])));
    this.moved.clear();
  }
}

/** Of one of the face's bones alone, as the server groups those. */
export const isBone = (p: Parameter): boolean => p.kind === 'shape' && p.group === 'bones';

function readRecipe(text: string): { of: string; values: [string, number][] } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error('This is no recipe: its JSON is broken.');
  }
  const { sinew_recipe: version, character, parameters } = (json ?? {}) as Record<string, unknown>;
  if (typeof version !== 'number' || typeof parameters !== 'object' || !parameters) {
    throw new Error('This is no recipe: it has no "sinew_recipe" and "parameters".');
  }
  if (version !== 1) throw new Error(`This page reads recipes of version 1, not ${version}.`);
  const values = Object.entries(parameters as Record<string, unknown>)
    .filter((e): e is [string, number] => typeof e[1] === 'number' && Number.isFinite(e[1]));
  return { of: typeof character === 'string' ? character : '', values };
}
