import type { Attributes } from '../otlp/span.ts';
import { asCount } from './fact-slots.ts';

const REASONING = ['gen_ai.usage.reasoning.output_tokens', 'gen_ai.usage.reasoning_tokens'];
const TOTAL = ['gen_ai.usage.total_tokens'];

/** The attributes that `uncountedReasoningTokensIn` reads. */
export const REASONING_TOKEN_NAMES: readonly string[] = [...REASONING, ...TOTAL];

/**
 * The reasoning tokens that are not part of the output tokens. The conventions include them. Google's API counts them separately,
 * and some instrumentations copy its numbers: the total shows it.
 */
export function uncountedReasoningTokensIn(attributes: Attributes, inputTokens: number, outputTokens: number): number {
  const reasoning = firstCount(attributes, REASONING);
  return firstCount(attributes, TOTAL) === inputTokens + outputTokens + reasoning ? reasoning : 0;
}

function firstCount(attributes: Attributes, names: readonly string[]): number {
  for (const name of names) {
    const count = asCount(attributes[name]);
    if (count !== null) return count;
  }
  return 0;
}
