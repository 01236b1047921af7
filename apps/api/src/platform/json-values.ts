const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

/**
 * Whether a JSON text has more values than a limit. It scans the text once and builds nothing, so that a text whose values
 * would take much time and memory can be refused before it is parsed. For a text that is not JSON the result is arbitrary.
 *
 * @param nested also counts each opening bracket. Without it only commas count, so that values that are alone in their list
 *   or object do not count, however deep they are nested.
 */
export function hasMoreValuesThan(text: string, limit: number, { nested = false } = {}): boolean {
  // A text has at most as many values as characters.
  if (text.length <= limit) return false;
  let count = 1;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === COMMA || (nested && (code === OPEN_LIST || code === OPEN_OBJECT))) {
      count += 1;
      if (count > limit) return true;
    }
  }
  return false;
}
