/** Control characters, bidirectional marks and overrides, and characters without a glyph. Line feeds and tabs are layout. */
const HIDDEN = String.raw`[[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]--[\n\r\t]]`;

/** Of {@link emojiOrHidden}, which is made when a text first needs it: it takes tens of milliseconds. */
let pattern: RegExp | undefined;
const MAY_HIDE = new RegExp(HIDDEN, 'v');

/** For the editor, which shows each of them as a dot and says its code. */
export const HIDDEN_CHARACTERS = new RegExp(HIDDEN, 'gv');

/** Writes invisible characters as `\u{202e}`, as the API does. Otherwise they could reorder or hide the text beside them. */
export function visibleText(text: string): string {
  return MAY_HIDE.test(text) ? text.replace(emojiOrHidden(), escapeHidden) : text;
}

function escapeHidden(character: string, emoji: string | undefined): string {
  return emoji ?? `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** The joiners and variation selectors inside an emoji are part of what is shown. */
function emojiOrHidden(): RegExp {
  pattern ??= new RegExp(String.raw`(\p{RGI_Emoji})|${HIDDEN}`, 'gv');
  return pattern;
}
