import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import { isProse, isWord } from '../words.ts';

const MAX_WORDS = 4;
/** The maximum number of characters of a word that is not ASCII. */
const MAX_CHARACTERS = 24;

/**
 * The name of a tool or an agent, from the name of a span. Null if it reads like a sentence, an address or an encoded text:
 * applications may name spans after a request, and names are stored even if content is not.
 */
export function subjectIn(spanName: string): string | null {
  const name = spanName.trim();
  const words = name.split(/\s+/).map((word) => word.replaceAll(/[()[\]']/g, ''));
  return !isProse(name, MAX_WORDS) && words.every(isWordOfName) ? name : null;
}

function isWordOfName(word: string): boolean {
  if (/^\p{ASCII}*$/u.test(word)) return isWord(word);
  return word.length <= MAX_CHARACTERS && /^[\p{L}\p{M}\p{N}_.:/-]+$/u.test(word);
}

/**
 * The vendor in front of the name of a model call, as wrappers of clients write it: `OpenAI.chat`, `anthropic.messages.create`,
 * `OPENAI_API_CALL`. Null if there is none.
 */
export function vendorInSpanName(spanName: string): string | null {
  const [, client] =
    /^([a-z]\w*?)(?:Embeddings?|LLM|Rerank(?:er)?)?(?:\.|_(?:api|chat|client|completion|message|response|request))/i.exec(
      spanName,
    ) ?? [];
  return client === undefined ? null : canonicalVendor(client);
}
