import type { Attributes } from '../otlp/span.ts';
import { firstCount } from './fact-slots.ts';

const REASONING = ['gen_ai.usage.reasoning.output_tokens', 'gen_ai.usage.reasoning_tokens'];
const TOTAL = ['gen_ai.usage.total_tokens'];

/** The attributes that `uncountedReasoningTokensIn` reads. */
export const REASONING_TOKEN_NAMES: readonly string[] = [...REASONING, ...TOTAL];

type Counts = { input: number; output: number; reasoning: number; total: number };

/** The reasoning tokens in the attributes of the conventions that are not part of the output tokens. */
export function uncountedReasoningTokensIn(attributes: Attributes, counted: Pick<Counts, 'input' | 'output'>): number {
  const [reasoning, total] = [firstCount(attributes, REASONING), firstCount(attributes, TOTAL)];
  return uncountedReasoningTokens({ ...counted, reasoning, total });
}

/**
 * The reasoning tokens that are not part of the output tokens. The conventions include them. Google's API counts them separately,
 * and some instrumentations copy its numbers: the total shows it.
 */
export function uncountedReasoningTokens({ input, output, reasoning, total }: Counts): number {
  return total === input + output + reasoning ? reasoning : 0;
}
