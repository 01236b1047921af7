import { HIDDEN_CHARACTER } from '@quartermaster/contracts/fields.ts';
import { withPublicUrls } from '../urls.ts';

/** Each hidden character; spaces at the ends; and what would read as an escape though nobody wrote one. */
const ESCAPED = new RegExp(`${HIDDEN_CHARACTER.source}|^ +| +$|\\\\(?=u\\{)`, 'gu');

/** A lone `*`, and one that is left where a provider in front of it is not counted to the name. */
const LONE_STAR = /(?<=^|\/)\*$/;

/** What most names are: visible ASCII, no star and no backslash, and spaces inside alone. They are as they should be. */
const PLAIN = /^(?! )[ -)+-[\]-~]*(?<! )$/;

/**
 * A name from a span as it is observed, reviewed and in the end granted: what no eye sees, or a gateway may take for
 * everything, is written as `\u{200b}` and `\u{2a}`. Such names cannot be declared (`ItemNameInputSchema`). Two names that
 * differ still do.
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
 * A name from a sender: at most 256 characters, hidden ones written visibly. URLs, such as those of MCP resources, keep
 * scheme, host and path.
 */
export function boundedName(text: string): string {
  // Cut before and after, since what is written visibly is longer.
  return cutName(visibleName(withPublicUrls(cutName(text)))).trimEnd();
}

function cutName(name: string): string {
  // toWellFormed: the cut may have split a surrogate pair.
  return name.length <= MAX_NAME_CHARACTERS ? name : name.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
}
