import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import type { Dialect, FactSources } from './dialect.ts';
import { compileSlots, type Slot, type Slots, sourcesOf } from './fact-slots.ts';
import { operationKey } from './operations.ts';

/** Finds the slots of an attribute. */
type SlotFinder = (name: string) => readonly Slot[];

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

/**
 * Words of attributes that are about another model, tool or agent than the one that runs, about a part of the tokens, or about a
 * provider of something else.
 */
const QUALIFIERS = new Set(
  [
    'allowed available default eval evaluation evaluator fallback from judge next parent previous source target to user',
    'audio cache cached cost details image limit max reasoning',
    'auth cloud device faas host identity machine oauth payment product storage vehicle',
  ].flatMap((words) => words.split(' ')),
);

/** The slots of the longest ending that an attribute's name has. An agent that calls another one is not the agent that runs. */
function slotsOfEnding(endings: Slots, name: string): readonly Slot[] {
  const words = wordsOfName(name);
  if (words.some((word) => QUALIFIERS.has(word))) return NO_SLOTS;
  for (let count = Math.min(MAX_WORDS_OF_ENDING, words.length); count > 0; count -= 1) {
    const found = endings.get(words.slice(-count).join('.'));
    if (!found) continue;
    const slots = words.includes('caller') ? found.filter(({ fact }) => fact !== 'agent' && fact !== 'agentId') : found;
    return slots.map((slot) => ({ ...slot, rank: slot.rank + RANK_OF_ENDINGS }));
  }
  return NO_SLOTS;
}

/** Returns a function that tests whether an attribute's name has one of the endings. */
export function endingTest(endings: FactSources): (name: string) => boolean {
  const slots = compileSlots(endings);
  return (name) => slotsOfEnding(slots, name).length > 0;
}

/** The words of an attribute's name, in lower case: `acme.toolName` and `acme_tool_name` have the words acme, tool, name. */
function wordsOfName(name: string): string[] {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1.$2')
    .toLowerCase()
    .split(/[._:/-]+/);
  return words.filter((word) => word !== '');
}

const MODEL_NAME = /^(?=.*[A-Za-z])[\w.:/@+-]{2,200}$/;
const TOOL_NAME = /^[\w.:/-]{1,128}$/;

/** Whether an attribute is known by its ending only. */
export function isOfEnding({ rank }: Slot): boolean {
  return rank >= RANK_OF_ENDINGS;
}

/**
 * Whether the text of an attribute that is known by its ending only can be the fact. Any other text may be content.
 *
 * @param operations those that the dialect lists
 */
export function hasFormOf(fact: Slot['fact'], text: string, operations: ReadonlyMap<string, unknown>): boolean {
  if (fact === 'operation') return operations.has(operationKey(text));
  if (fact === 'vendor') return canonicalVendor(text) !== null;
  return fact === 'model' || fact === 'responseModel' ? isModelName(text) : TOOL_NAME.test(text);
}

/** Whether a text has the form of a model's name. Other texts may be content. */
export function isModelName(text: string): boolean {
  return MODEL_NAME.test(text);
}
