import { HIDDEN_CHARACTER } from '@quartermaster/contracts/fields.ts';
import { withoutEncodedText } from '../encoded-text.ts';
import { memoizeByName } from '../memoize-by-name.ts';
import { withPublicUrls } from '../urls.ts';

/** Invisible characters, spaces at the ends, and a backslash that would read as the start of an escape. */
const ESCAPED = new RegExp(`${HIDDEN_CHARACTER.source}|^ +| +$|\\\\(?=u\\{)`, 'gu');

/** A `*` alone, or after a provider's name and a slash. */
const LONE_STAR = /(?<=^|\/)\*$/;

/** Most names: visible ASCII without `*` and backslash, and no spaces at the ends. They need no change. */
const PLAIN = /^(?! )[ -)+-[\]-~]*(?<! )$/;

/**
 * A name from a span as it is observed, reviewed and granted. Invisible characters, and a `*` that a gateway may read as a
 * wildcard, are escaped: `\u{200b}`, `\u{2a}`. Names with such characters cannot be declared (`ItemNameInputSchema`).
 * Different names stay different.
 */
export function visibleName(name: string): string {
  if (PLAIN.test(name)) return name;
  return name.replace(ESCAPED, escaped).replace(LONE_STAR, escaped);
}

function escaped(text: string): string {
  return Array.from(text, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join('');
}

const MAX_NAME_CHARACTERS = 256;

/**
 * A name from a sender with at most 256 characters, and invisible ones escaped. URLs, such as those of MCP resources, are
 * reduced to scheme, host and path. Encoded content is replaced.
 */
export const boundedName = memoizeByName(boundedId);

/** {@link boundedName} for ids, which are not memoized because they hardly ever repeat. */
export function boundedId(text: string): string {
  // Truncated before and after, because escapes are longer than what they replace.
  return cutName(visibleName(withoutEncodedText(withPublicUrls(cutName(text))))).trimEnd();
}

function cutName(name: string): string {
  // toWellFormed, because truncation may split a surrogate pair.
  return name.length <= MAX_NAME_CHARACTERS ? name : name.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
}
