import { ownMember } from '../../platform/own-member.ts';
import type { Attributes, AttributeValue } from '../otlp/span.ts';
import type { Dialect, FactSources } from './dialect.ts';
import { genai } from './genai.ts';
import { readInside } from './inside.ts';

/** A fact that an attribute may hold. Of several attributes, the one with the lowest rank is taken. */
export type Slot = { fact: keyof FactSources; rank: number; path: readonly string[] | null };

/** The slots by attribute name, so that one pass over the attributes of a span finds all facts. */
export type Slots = ReadonlyMap<string, readonly Slot[]>;

/** @param sources in order of precedence */
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

/** The attributes for each fact of a dialect: its own names, then those of OpenTelemetry GenAI. */
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

/** Names are stored with up to 256 characters. A prefix may be removed before that, so more are read. */
const MAX_TEXT_CHARACTERS = 512;

/** The first 512 characters of a slot's value. Null if it is not a text, or blank. */
export function textIn(value: AttributeValue, { path }: Slot): string | null {
  const text = path === null ? value : readInside(value, path);
  return typeof text === 'string' ? boundedText(text) : null;
}

/** The first 512 characters of a text, which bounds the work of patterns. Null if they are blank. */
export function boundedText(text: string): string | null {
  const bounded = text.length > MAX_TEXT_CHARACTERS ? text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed() : text;
  return bounded.trim() === '' ? null : bounded;
}

/** The value of a slot as a non-negative integer. Log events and Micrometer write numbers as texts. */
export function countIn(value: AttributeValue, { path }: Pick<Slot, 'path'>): number | null {
  const inside = path === null ? value : readInside(value, path);
  const number = typeof inside === 'string' && /^\d{1,15}$/.test(inside) ? Number(inside) : inside;
  return asCount(number);
}

/** A value as a non-negative integer. Null for any other one. */
export function asCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

/** A member of a parsed value as a non-negative integer. Null for any other one. */
export function countUnder(value: unknown, key: string): number | null {
  return asCount(ownMember(value, key));
}

/** The first of these attributes that is a count. 0 if none is one. */
export function firstCount(attributes: Attributes, names: readonly string[]): number {
  for (const name of names) {
    const count = asCount(attributes[name]);
    if (count !== null) return count;
  }
  return 0;
}
