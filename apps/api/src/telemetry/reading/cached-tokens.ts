import type { Attributes } from '../otlp/span.ts';
import { countUnder, firstCount } from './fact-slots.ts';
import type { Facts } from './facts.ts';

const READ_FROM_CACHE = [
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_read_input_tokens',
  'llm.token_count.prompt_details.cache_read',
  'ai.usage.cachedInputTokens',
  // traceAI
  'gen_ai.usage.input_tokens.cache_read',
  'gen_ai.usage.cache_read_tokens',
  'neatlogs.llm.token_count.cache_read',
];

const WRITTEN_TO_CACHE = [
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_creation_input_tokens',
  'gen_ai.usage.cache_write.input_tokens',
  'gen_ai.usage.cache_write_input_tokens',
  'llm.token_count.prompt_details.cache_write',
  'gen_ai.usage.input_tokens.cache_write',
  'gen_ai.usage.cache_write_tokens',
  'neatlogs.llm.token_count.cache_write',
];

export const TOTAL_TOKENS: readonly string[] = [
  'gen_ai.usage.total_tokens',
  'ai.usage.totalTokens',
  'llm.token_count.total',
  'llm.usage.total_tokens',
  'neatlogs.llm.token_count.total',
];

/** The attributes that this file reads. */
export const CACHED_TOKEN_NAMES: readonly string[] = [...READ_FROM_CACHE, ...WRITTEN_TO_CACHE, ...TOTAL_TOKENS];

/**
 * Adds the cached tokens to the input tokens if the numbers show that these exclude them: if more tokens were cached than the
 * input has, or if the total is the sum of all three. The conventions include cached tokens in the input. The APIs of Anthropic
 * and Bedrock count them separately, and some instrumentations copy their numbers.
 */
export function addUncountedCache(attributes: Attributes, facts: Facts): void {
  const { inputTokens: input } = facts;
  const cached = cachedTokensIn(attributes);
  if (input !== null && (cached > input || restOfTotal(attributes, facts) === cached))
    facts.inputTokens = input + cached;
}

/** Adds cached tokens that are not reported themselves. The total of Bedrock shows them. */
export function addCacheInTotalOfBedrock(attributes: Attributes, facts: Facts): void {
  if (facts.inputTokens === null || facts.vendor !== 'aws.bedrock' || cachedTokensIn(attributes) > 0) return;
  facts.inputTokens += Math.max(0, restOfTotal(attributes, facts));
}

/** The tokens of the total that are neither input nor output. Negative if the total is not reported. */
function restOfTotal(attributes: Attributes, { inputTokens, outputTokens }: Facts): number {
  if (inputTokens === null || outputTokens === null) return -1;
  return firstCount(attributes, TOTAL_TOKENS) - inputTokens - outputTokens;
}

/** Adds the counts under some names to input tokens that exclude them. */
export function addToInput(attributes: Attributes, facts: Facts, names: readonly string[]): void {
  if (facts.inputTokens === null) return;
  for (const name of names) facts.inputTokens += firstCount(attributes, [name]);
}

/** Adds the cached tokens to input tokens that are Anthropic's own count. `addUncountedCache` does not add them again. */
export function addCacheOfAnthropic(attributes: Attributes, facts: Facts): void {
  if (facts.inputTokens !== null) facts.inputTokens += cachedTokensIn(attributes);
}

/** The cached tokens in a usage as Anthropic's API writes it. Its input tokens do not include them. */
export function cachedInUsage(usage: unknown): number {
  return (countUnder(usage, 'cache_read_input_tokens') ?? 0) + (countUnder(usage, 'cache_creation_input_tokens') ?? 0);
}

/** The input tokens that were read from a cache or written to it. */
function cachedTokensIn(attributes: Attributes): number {
  return firstCount(attributes, READ_FROM_CACHE) + firstCount(attributes, WRITTEN_TO_CACHE);
}
