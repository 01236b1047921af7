import { ownMember } from '../../platform/own-member.ts';
import type { Attributes } from '../otlp/span.ts';
import { cachedInUsage, cachedTokensOf } from './cached-tokens.ts';
import { countUnder } from './fact-slots.ts';
import type { Facts } from './facts.ts';
import { parsedJson } from './inside.ts';

/** Names of attributes that hold the usage of a call as one JSON text: `acme.usage`, `acme.tokenUsage`, `langwatch.metrics`. */
const USAGE_NAME = /(?:^|[._:/-]|[a-z])(?:usage(?:[._-]?details|[._-]?metadata)?|metrics)$/i;

const INPUT_KEYS = ['input_tokens', 'prompt_tokens', 'inputTokens', 'promptTokens', 'promptTokenCount'];
const OUTPUT_KEYS = ['output_tokens', 'completion_tokens', 'outputTokens', 'completionTokens', 'candidatesTokenCount'];
const TOTAL_KEYS = ['total_tokens', 'totalTokens', 'totalTokenCount'];

type TextUsage = Pick<Facts, 'cacheReadTokens' | 'cacheWriteTokens'> & {
  input: number | null;
  output: number | null;
  reasoning: number | null;
};

/** The tokens in an attribute that holds a call's usage as JSON. The counts may be in its member `value`. */
export function usageInTexts(attributes: Attributes): TextUsage {
  for (const name in attributes) {
    const text = attributes[name];
    if (typeof text !== 'string' || !text.startsWith('{') || !USAGE_NAME.test(name)) continue;
    const parsed = parsedJson(text);
    for (const usage of [parsed, ownMember(parsed, 'value')]) {
      const input = firstCountUnder(usage, INPUT_KEYS);
      const output = firstCountUnder(usage, OUTPUT_KEYS);
      if (input === null && output === null) continue;
      return {
        input: input && input + uncountedCache(usage, input, output ?? 0),
        // Google's API counts reasoning separately.
        output: output && output + (countUnder(usage, 'thoughtsTokenCount') ?? 0),
        reasoning: countUnder(usage, 'thoughtsTokenCount'),
        ...cachedInUsage(usage),
      };
    }
  }
  return { input: null, output: null, reasoning: null, cacheReadTokens: null, cacheWriteTokens: null };
}

/**
 * The cached tokens that the input does not include. The usage of Anthropic's API has no total. Other senders write these keys,
 * too: for them the numbers decide, as for attributes (`cached-tokens.ts`).
 */
function uncountedCache(usage: unknown, input: number, output: number): number {
  const cached = cachedTokensOf(cachedInUsage(usage));
  const total = firstCountUnder(usage, TOTAL_KEYS);
  return total === null || cached > input || total - input - output === cached ? cached : 0;
}

function firstCountUnder(usage: unknown, keys: readonly string[]): number | null {
  for (const key of keys) {
    const count = countUnder(usage, key);
    if (count !== null) return count;
  }
  return null;
}
