import type { Attributes } from '../otlp/span.ts';
import { firstCount } from './fact-slots.ts';

const READ_FROM_CACHE = [
  'gen_ai.usage.cache_read.input_tokens',
  'gen_ai.usage.cache_read_input_tokens',
  'llm.token_count.prompt_details.cache_read',
  'ai.usage.cachedInputTokens',
];

const WRITTEN_TO_CACHE = [
  'gen_ai.usage.cache_creation.input_tokens',
  'gen_ai.usage.cache_creation_input_tokens',
  'gen_ai.usage.cache_write.input_tokens',
  'llm.token_count.prompt_details.cache_write',
];

/** The attributes that `cachedTokensIn` reads. */
export const CACHED_TOKEN_NAMES: readonly string[] = [...READ_FROM_CACHE, ...WRITTEN_TO_CACHE];

/**
 * The input tokens that were read from a cache or written to it. The conventions include them in the input tokens. Anthropic's
 * API counts them separately, and some instrumentations copy its numbers.
 */
export function cachedTokensIn(attributes: Attributes): number {
  return firstCount(attributes, READ_FROM_CACHE) + firstCount(attributes, WRITTEN_TO_CACHE);
}
