const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

/**
 * Whether a JSON text has more values than a limit. Reads the text once and builds nothing, so that a text whose values
 * would take much time and memory can be refused before it is parsed. A text that is not JSON gives some answer, too.
 *
 * @param nested whether lists and objects count as well as what follows a comma: without it, values that are alone in
 *   theirs do not count, however deep they nest
 */
export function valuesBeyond(text: string, limit: number, { nested = false } = {}): boolean {
  // No text has more values than characters.
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
