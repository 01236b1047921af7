import type { AttributeValue } from '../otlp/span.ts';
import type { Dialect, FactSources } from './dialect.ts';
import { genai } from './genai.ts';
import { readInside } from './inside.ts';

/** A fact that an attribute may hold. Of several attributes, the one with the lowest rank decides. */
export type Slot = { fact: keyof FactSources; rank: number; path: readonly string[] | null };

/** The facts of each attribute that is read. One pass over the attributes of a span finds them all. */
export type Slots = ReadonlyMap<string, readonly Slot[]>;

/** @param sources by precedence: what the first one lists comes before what the second one lists */
export function compileSlots(...sources: readonly FactSources[]): Slots {
  const slots = new Map<string, Slot[]>();
  const ranks = new Map<string, number>();
  for (const [fact, names] of sources.flatMap((source) => Object.entries(source))) {
    for (const name of names) {
      const rank = ranks.get(fact) ?? 0;
      ranks.set(fact, rank + 1);
      const [attribute = '', path] = name.split('#');
      const slot = { fact: fact as keyof FactSources, rank, path: path === undefined ? null : path.split('.') };
      const same = slots.get(attribute);
      if (same) same.push(slot);
      else slots.set(attribute, [slot]);
    }
  }
  return slots;
}

/** Where the facts of a dialect stand: its own names, then those of OpenTelemetry GenAI. */
export function sourcesOf({ attributes = {}, ignores = [] }: Dialect): FactSources {
  const facts = Object.keys({ ...genai.attributes, ...attributes }) as (keyof FactSources)[];
  return Object.fromEntries(
    facts.map((fact) => {
      const base: FactSources = genai.attributes;
      const names = new Set([...(attributes[fact] ?? []), ...(base[fact] ?? [])]);
      return [fact, [...names].filter((name) => !ignores.includes(name))];
    }),
  );
}

/** Names are stored with 256 characters. Some are written with a prefix that is cut off first. */
const MAX_TEXT_CHARACTERS = 512;

/** The value of a slot as a text, its first 512 characters; null if it is none, or blank. */
export function textIn(value: AttributeValue, { path }: Slot): string | null {
  const text = path === null ? value : readInside(value, path);
  return typeof text === 'string' ? boundedText(text) : null;
}

/** The first 512 characters of a text, so that no pattern is tried on more; null if they are blank. */
export function boundedText(text: string): string | null {
  const bounded = text.length > MAX_TEXT_CHARACTERS ? text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed() : text;
  return bounded.trim() === '' ? null : bounded;
}

/** The value of a slot as a whole number that is not negative. @param takesText log events of some senders have texts */
export function countIn(value: AttributeValue, { path }: Slot, takesText: boolean): number | null {
  const inside = path === null ? value : readInside(value, path);
  const number = takesText && typeof inside === 'string' && /^\d{1,15}$/.test(inside) ? Number(inside) : inside;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null;
}
