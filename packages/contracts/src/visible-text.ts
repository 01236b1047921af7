/** Controls, bidirectional marks and overrides, and characters without a glyph. Spaces of any width are seen. */
const HIDDEN = String.raw`[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]`;

/** The joiners and variation selectors of an emoji belong to what is seen. */
const EMOJI_OR_HIDDEN = new RegExp(String.raw`(\p{RGI_Emoji})|${HIDDEN}`, 'gv');
const MAY_HIDE = new RegExp(HIDDEN, 'u');

/**
 * A text of one line, such as a title, with hidden characters written as `\u{202e}`. A stranger's text must not reorder,
 * overwrite or hide what stands beside it in a list or a terminal. A text that was written so before stays as it is.
 */
export function visibleLine(text: string): string {
  return MAY_HIDE.test(text) ? text.replace(EMOJI_OR_HIDDEN, escapeHidden) : text;
}

/** The same for a text of several lines, such as a description: line feeds, carriage returns before them and tabs stay. */
export function visibleText(text: string): string {
  if (!MAY_HIDE.test(text)) return text;
  return text
    .split(/(\r?\n|\t)/)
    .map((part, index) => (index % 2 === 1 ? part : visibleLine(part)))
    .join('');
}

/** Whether a text of one line has characters that are not seen. */
export function hidesText(text: string): boolean {
  return visibleLine(text) !== text;
}

function escapeHidden(character: string, emoji: string | undefined): string {
  return emoji ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
