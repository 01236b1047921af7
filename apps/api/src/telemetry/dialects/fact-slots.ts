import type { AttributeValue } from '../otlp/span.ts';
import type { Dialect, FactSources } from './dialect.ts';
import { genai } from './genai.ts';
import { readInside } from './inside.ts';
import { memoizeByName } from '../memoize-by-name.ts';

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

/** Finds the slots of an attribute. */
export type SlotFinder = (name: string) => readonly Slot[];

const NO_SLOTS: readonly Slot[] = [];

/** Endings have the lowest precedence. */
const RANK_OF_ENDINGS = 1000;

const MAX_WORDS_OF_ENDING = 3;

/** @param event the attributes of a log event, which take precedence */
export function slotFinder(dialect: Dialect, event: FactSources = {}): SlotFinder {
  const slots = compileSlots(event, sourcesOf(dialect));
  if (dialect.endings === undefined) return (name) => slots.get(name) ?? NO_SLOTS;
  const endings = compileSlots(dialect.endings);
  return memoizeByName((name) => slots.get(name) ?? slotsOfEnding(endings, name));
}

/** Words of attributes that are about another model, tool or agent than the one that runs, or about a part of the tokens. */
const QUALIFIERS = new Set(
  [
    'allowed available default eval evaluation evaluator fallback from judge next parent previous source target to user',
    'audio cache cached cost details image limit max reasoning',
  ].flatMap((words) => words.split(' ')),
);

/** The slots of the longest ending that an attribute's name has. */
function slotsOfEnding(endings: Slots, name: string): readonly Slot[] {
  const words = wordsOfName(name);
  if (words.some((word) => QUALIFIERS.has(word))) return NO_SLOTS;
  for (let count = Math.min(MAX_WORDS_OF_ENDING, words.length); count > 0; count -= 1) {
    const found = endings.get(words.slice(-count).join('.'));
    if (found) return found.map((slot) => ({ ...slot, rank: slot.rank + RANK_OF_ENDINGS }));
  }
  return NO_SLOTS;
}

/** Whether an attribute's name has one of the endings. */
export function hasEnding(endings: FactSources, name: string): boolean {
  return slotsOfEnding(compileSlots(endings), name).length > 0;
}

/** The words of an attribute's name, in lower case: `acme.toolName` and `acme_tool_name` have the words acme, tool, name. */
function wordsOfName(name: string): string[] {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1.$2')
    .toLowerCase()
    .split(/[._:/-]+/);
  return words.filter((word) => word !== '');
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
export function countIn(value: AttributeValue, { path }: Slot): number | null {
  const inside = path === null ? value : readInside(value, path);
  const number = typeof inside === 'string' && /^\d{1,15}$/.test(inside) ? Number(inside) : inside;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null;
}
