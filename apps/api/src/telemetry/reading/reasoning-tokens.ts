import type { Attributes } from '../otlp/span.ts';
import { TOTAL_TOKENS } from './cached-tokens.ts';
import { firstCount } from './fact-slots.ts';
import type { Facts } from './facts.ts';

const REASONING = [
  'gen_ai.usage.reasoning.output_tokens',
  'gen_ai.usage.reasoning_tokens',
  'ai.usage.reasoningTokens',
  'llm.token_count.completion_details.reasoning',
  'neatlogs.llm.token_count.reasoning',
];

/** The attributes of the conventions that this file reads. */
export const REASONING_TOKEN_NAMES: readonly string[] = [...REASONING, ...TOTAL_TOKENS];

type Counts = {
  /** 0 if they are not reported. */
  reasoning: number;
  /** 0 if it is not reported. */
  total: number;
  /** The input tokens, if they are not those of the facts. */
  input?: number | null;
};

/** The counts in the attributes of the conventions. */
export function reasoningCountsIn(attributes: Attributes): Counts {
  return { reasoning: firstCount(attributes, REASONING), total: firstCount(attributes, TOTAL_TOKENS) };
}

/**
 * Adds the reasoning tokens to the output tokens if these exclude them. The conventions include them. Google's API counts them
 * separately, and some instrumentations copy its numbers: the total shows it. The total of a Gemini model shows them even if they
 * are not reported themselves.
 */
export function addUncountedReasoning(facts: Facts, { reasoning, total, input = facts.inputTokens }: Counts): void {
  if (input === null || facts.outputTokens === null) return;
  const rest = total - input - facts.outputTokens;
  const isReasoning = rest === reasoning || (reasoning === 0 && GEMINI.test(facts.model ?? ''));
  if (rest > 0 && isReasoning) facts.outputTokens += rest;
}

/** Adds the reasoning tokens to output tokens that are Google's own count. `addUncountedReasoning` does not add them again. */
export function addReasoningOfGoogle(attributes: Attributes, facts: Facts): void {
  if (facts.outputTokens !== null) facts.outputTokens += firstCount(attributes, REASONING);
}

const GEMINI = /(?:^|[/.])gemini-/i;
