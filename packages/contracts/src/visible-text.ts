/** Emoji as keyboards write them: their joiners and variation selectors belong to what is seen. */
const EMOJI = String.raw`\p{RGI_Emoji}`;

/** Controls, bidirectional marks and overrides, and characters without a glyph. Spaces of any width are seen. */
const HIDDEN = String.raw`[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]`;

/** An escape that was sent as it stands: its backslash is escaped, so that two texts that differ still do. */
const ESCAPE = String.raw`\\(?=u\{)`;

const EMOJI_OR_HIDDEN = new RegExp(`(${EMOJI})|${HIDDEN}|${ESCAPE}`, 'gv');
const HAS_HIDDEN = new RegExp(`${HIDDEN}|${ESCAPE}`, 'u');

/**
 * A text of one line, such as a title, with hidden characters written as `\u{202e}`. A stranger's text must not reorder,
 * overwrite or hide what stands beside it in a list or a terminal.
 */
export function visibleLine(text: string): string {
  return HAS_HIDDEN.test(text) ? text.replace(EMOJI_OR_HIDDEN, escapeHidden) : text;
}

/** The same for a text of several lines, such as a description: line feeds, carriage returns before them and tabs stay. */
export function visibleText(text: string): string {
  return text
    .split(/(\r?\n|\t)/)
    .map((part, index) => (index % 2 === 1 ? part : visibleLine(part)))
    .join('');
}

function escapeHidden(character: string, emoji: string | undefined): string {
  return emoji ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
