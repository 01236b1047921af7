const CONTINUATION_MASK = 0xc0;
const CONTINUATION = 0x80;

/** Truncates a well-formed text to a number of UTF-8 bytes, without splitting a code point. */
export function cutToBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at most 3 bytes, so most texts need no counting.
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(0, maxBytes));
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & CONTINUATION_MASK) === CONTINUATION) end -= 1;
  return bytes.toString('utf8', 0, end);
}
