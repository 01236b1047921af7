/**
 * A value that a sender wrote, as a text. Like `String`, but the text of an object is empty: `String` would call its member
 * `toString`, which the sender may have set to anything.
 */
export function asText(value: unknown): string {
  return Array.isArray(value) ? value.map(asScalar).join(',') : asScalar(value);
}

/** Lists in lists have no text, because they may be nested so deeply that the stack overflows. */
function asScalar(value: unknown): string {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
    default:
      return value === null ? 'null' : '';
  }
}
