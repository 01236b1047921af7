/** Control characters, bidirectional marks and overrides, and characters without a glyph. Spaces of any width count as visible. */
const HIDDEN = String.raw`[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]`;

const MAY_HIDE = new RegExp(HIDDEN, 'u');

/** Of {@link emojiOrHidden}, which is made when a text first needs it: it takes 40 ms, a twentieth of a start. */
let pattern: RegExp | undefined;

/**
 * Escapes the invisible characters of a one-line text, such as a title: `\u{202e}`. Otherwise a text from outside could
 * reorder, overwrite or hide the text beside it in a list or a terminal. An escaped text stays as it is.
 */
export function visibleLine(text: string): string {
  return MAY_HIDE.test(text) ? text.replace(emojiOrHidden(), escapeHidden) : text;
}

/** Like {@link visibleLine}, for a text of several lines such as a description: line feeds, CRLF and tabs stay. */
export function visibleText(text: string): string {
  if (!MAY_HIDE.test(text)) return text;
  return text
    .split(/(\r?\n|\t)/)
    .map((part, index) => (index % 2 === 1 ? part : visibleLine(part)))
    .join('');
}

/** Escapes the invisible characters in all texts of a JSON value, including the names of members, as {@link visibleText} does. */
export function visibleValue<Value>(value: Value): Value {
  return visibleJson(value) as Value;
}

function visibleJson(value: unknown): unknown {
  if (typeof value === 'string') return visibleText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(visibleJson);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [visibleLine(name), visibleJson(member)]));
}

/** Whether a one-line text has invisible characters. */
export function hidesText(text: string): boolean {
  return visibleLine(text) !== text;
}

function escapeHidden(character: string, emoji: string | undefined): string {
  return emoji ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** The joiners and variation selectors inside an emoji are part of what is shown, so they are not escaped. */
function emojiOrHidden(): RegExp {
  pattern ??= new RegExp(String.raw`(\p{RGI_Emoji})|${HIDDEN}`, 'gv');
  return pattern;
}
