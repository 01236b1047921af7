import type { Dialect, FactSources, ReadSource } from './dialect.ts';
import { hasFormOf, isOfEnding, slotFinder } from './endings.ts';
import { countIn, type Slot, textIn } from './fact-slots.ts';
import type { Facts } from './facts.ts';
import { withPublicUrls } from '../urls.ts';
import { canonicalOperation, operationKey, withoutQuotes } from './operations.ts';
import { hostIn, isAddress } from './server-address.ts';
import { vendorIn } from './vendors.ts';

/** The address and the error of a call. */
export type Place = Pick<Facts, 'serverAddress' | 'serverPort' | 'errorType'>;

/**
 * Sets the facts that attributes hold.
 *
 * @returns whether the operation is that of a wrapper, and no attribute of higher precedence has another one
 */
type AttributeReader = (attributes: ReadSource['attributes'], facts: Facts, place: Place) => boolean;

const MAX_PORT = 65_535;

/** @param event attributes of a log event, which take precedence */
export function attributeReader(dialect: Dialect, event?: FactSources): AttributeReader {
  const slotsOf = slotFinder(dialect, event);
  const operations = new Map(Object.entries(dialect.operations ?? {}));
  const vendors = new Map(Object.entries(dialect.vendors ?? {}));
  const wrappers = new Set(dialect.wrappers);
  // Reused for every span, which is safe because reading is synchronous.
  const ranks: Partial<Record<keyof FactSources, number>> = {};

  return (attributes, facts, place) => {
    let wrapperRank = Number.POSITIVE_INFINITY;
    for (const fact in ranks) ranks[fact as keyof FactSources] = Number.POSITIVE_INFINITY;
    for (const name in attributes) {
      for (const slot of slotsOf(name)) {
        const value = attributes[name] ?? null;
        if (slot.fact === 'operation' && wrappers.has(operationKey(textIn(value, slot) ?? ''))) {
          wrapperRank = Math.min(wrapperRank, slot.rank);
        }
        if (slot.rank >= (ranks[slot.fact] ?? Number.POSITIVE_INFINITY)) continue;
        if (setFact(slot, value, facts, place)) ranks[slot.fact] = slot.rank;
      }
    }
    return wrapperRank < Number.POSITIVE_INFINITY && wrapperRank <= (ranks.operation ?? wrapperRank);
  };

  /** @returns whether the value was usable for the fact */
  function setFact(slot: Slot, value: ReadSource['attributes'][string], facts: Facts, place: Place): boolean {
    const { fact } = slot;
    if (isCount(fact)) {
      const count = countIn(value, slot);
      if (fact !== 'serverPort') facts[fact] = count ?? facts[fact];
      else if (count !== null && count > 0 && count <= MAX_PORT) place.serverPort = count;
      return count !== null;
    }
    const written = textIn(value, slot);
    const whole = written !== null && isOfEnding(slot) ? withoutQuotes(written) : written;
    if (whole === null || isPlaceholder(fact, whole)) return false;
    if (isOfEnding(slot) && !hasFormOf(fact, whole, operations)) return false;
    // Done before dialects split names, because a part of a URL would not be recognised as one.
    const text = withPublicUrls(whole);
    if (fact === 'serverAddress') place.serverAddress = hostIn(text);
    else if (fact === 'errorType') place.errorType = text;
    else {
      const named = fact === 'operation' ? operationIn(text) : fact === 'vendor' ? vendorOf(text) : text;
      if (named === null) return false;
      // Clients of a gateway may write its address as the vendor.
      if (fact === 'vendor' && named === text && isAddress(text)) {
        place.serverAddress ??= hostIn(text);
        return false;
      }
      facts[fact] = named;
    }
    return true;
  }

  function operationIn(text: string): string | null {
    const known = operations.get(operationKey(text));
    return known === undefined ? canonicalOperation(text) : known;
  }

  function vendorOf(text: string): string | null {
    const known = vendors.get(text.toLowerCase());
    return known === undefined ? vendorIn(text) : known;
  }
}

type CountFact =
  | 'inputTokens'
  | 'outputTokens'
  | 'cacheReadTokens'
  | 'cacheWriteTokens'
  | 'reasoningTokens'
  | 'serverPort';

function isCount(fact: keyof FactSources): fact is CountFact {
  return fact === 'serverPort' || fact.endsWith('Tokens');
}

/** What senders write if they do not know a name. `<synthetic>` is the model of messages that Claude Code writes itself. */
const PLACEHOLDERS = new Set([
  'n/a',
  'none',
  'null',
  'undefined',
  'unknown',
  '<not specified>',
  '<synthetic>',
  '(merged tools)',
]);
const MAX_PLACEHOLDER = 15;

function isPlaceholder(fact: keyof FactSources, text: string): boolean {
  if (text.length > MAX_PLACEHOLDER || !PLACEHOLDERS.has(text.toLowerCase())) return false;
  // An unknown error is an error, and a machine may have any of these names.
  return fact !== 'serverAddress' && !(fact === 'errorType' && text.toLowerCase() === 'unknown');
}
