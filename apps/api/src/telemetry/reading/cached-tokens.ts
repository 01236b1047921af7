import type { Attributes } from '../otlp/span.ts';
import { countUnder, firstCount } from './fact-slots.ts';
import type { Facts } from './facts.ts';

/** The attributes with the total of a call's tokens. */
export const TOTAL_TOKENS: readonly string[] = [
  'gen_ai.usage.total_tokens',
  'ai.usage.totalTokens',
  'llm.token_count.total',
  'llm.usage.total_tokens',
  'neatlogs.llm.token_count.total',
];

/**
 * Adds the cached tokens to the input tokens if the numbers show that the input excludes them: if more tokens were cached than
 * the input has, or if the total is the sum of input, output and cached tokens. The conventions include cached tokens in the
 * input. The APIs of Anthropic and Bedrock count them separately, and some instrumentations copy the numbers of these APIs.
 */
export function addUncountedCache(attributes: Attributes, facts: Facts): void {
  const { inputTokens: input } = facts;
  const cached = cachedTokensOf(facts);
  if (input !== null && (cached > input || restOfTotal(attributes, facts) === cached))
    facts.inputTokens = input + cached;
}

/** Adds cached tokens that Bedrock does not report by themselves. They are the rest of its total. */
export function addCacheInTotalOfBedrock(attributes: Attributes, facts: Facts): void {
  if (facts.inputTokens === null || facts.vendor !== 'aws.bedrock' || cachedTokensOf(facts) > 0) return;
  facts.inputTokens += Math.max(0, restOfTotal(attributes, facts));
}

/** The tokens of the total that are neither input nor output. Negative if the total is not reported. */
function restOfTotal(attributes: Attributes, { inputTokens, outputTokens }: Facts): number {
  if (inputTokens === null || outputTokens === null) return -1;
  return firstCount(attributes, TOTAL_TOKENS) - inputTokens - outputTokens;
}

/** Adds the cached tokens to input tokens that exclude them. `addUncountedCache` does not add them again. */
export function addCacheToInput(facts: Facts): void {
  if (facts.inputTokens !== null) facts.inputTokens += cachedTokensOf(facts);
}

/** Cached tokens of one call. */
type CachedTokens = Pick<Facts, 'cacheReadTokens' | 'cacheWriteTokens'>;

/** The cached tokens in a usage as Anthropic's API writes it. Its input tokens do not include them. */
export function cachedInUsage(usage: unknown): CachedTokens {
  return {
    cacheReadTokens: countUnder(usage, 'cache_read_input_tokens'),
    cacheWriteTokens: countUnder(usage, 'cache_creation_input_tokens'),
  };
}

/** Sets cached tokens that the attributes do not report. */
export function setCachedTokens({ cacheReadTokens, cacheWriteTokens }: CachedTokens, facts: Facts): void {
  facts.cacheReadTokens ??= cacheReadTokens;
  facts.cacheWriteTokens ??= cacheWriteTokens;
}

/** The input tokens that were read from a cache or written to it. */
export function cachedTokensOf({ cacheReadTokens, cacheWriteTokens }: CachedTokens): number {
  return (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
}
