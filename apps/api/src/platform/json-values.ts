const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;

const UNLIMITED = Number.POSITIVE_INFINITY;

type Limits = {
  /** The maximum number of values in total. */
  values?: number;
  /**
   * The maximum number of list items and object members. They are counted by their commas, so the only item of a list does not
   * count.
   */
  items?: number;
  /** The maximum number of lists and objects. */
  containers?: number;
};

/**
 * Whether a JSON text has more values than one of the limits. It scans the text once and builds nothing, so that a text whose
 * values would take much time and memory can be refused before it is parsed. For a text that is not JSON the result is arbitrary.
 */
export function hasMoreValuesThan(
  text: string,
  { values = UNLIMITED, items = UNLIMITED, containers = UNLIMITED }: Limits,
): boolean {
  // A text has at most as many values as characters.
  if (text.length <= Math.min(values, items, containers)) return false;
  let commas = 0;
  let brackets = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInString = false;
      continue;
    }
    if (code === QUOTE) isInString = true;
    else if (code === COMMA) commas += 1;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) brackets += 1;
    else continue;
    if (commas >= items || brackets > containers || commas + brackets >= values) return true;
  }
  return false;
}

/** Whether a value of JSON is an object, and not a list or null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
