/** Scripts that write sentences without spaces. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/gu;
const MAX_UNSPACED = 8;

/** Whether a text reads like a sentence, JSON or an e-mail address, and not like a name. */
export function isProse(text: string, maxWords: number): boolean {
  if (/[\r\n]|[{[]\s*"|[^\s@]@[^\s@]+\.[a-z]|[。！？；、，؟।]/iu.test(text)) return true;
  if (text.split(/\s+/).length > maxWords) return true;
  return (text.match(UNSPACED)?.length ?? 0) > MAX_UNSPACED;
}

/** Letters with a few digits, a short mix of both, or a short number. Longer mixes may be encoded. */
const SEGMENT = /^(?:[A-Za-z]{1,40}\d{0,4}|[A-Za-z\d]{1,16}|\d{1,8})$/;
const MAX_WORD_CHARACTERS = 96;

/** Whether a text is one word, such as a function's name or the name of an attribute: `gen_ai.usage.input_tokens`. */
export function isWord(text: string): boolean {
  if (text.length > MAX_WORD_CHARACTERS || !/^[\w.:/-]+$/.test(text) || text.includes('//')) return false;
  const segments = text.split(/[_.:/-]+/).filter((segment) => segment !== '');
  return segments.length > 0 && !/\d{9}/.test(text) && segments.every((one) => SEGMENT.test(one) && !isEncoded(one));
}

/** Base64 changes between small and capital letters more often than words do. */
function isEncoded(segment: string): boolean {
  return segment.length > 16 && (segment.match(/[a-z\d][A-Z]/g)?.length ?? 0) > segment.length / 5;
}
