import type { Attributes } from '../otlp/span.ts';
import { TOTAL_TOKENS } from './cached-tokens.ts';
import { firstCount } from './fact-slots.ts';
import type { Facts } from './facts.ts';

type Counts = {
  /** 0 if they are not reported. */
  reasoning: number;
  /** 0 if it is not reported. */
  total: number;
  /** The input tokens, if they are not those of the facts. */
  input?: number | null;
};

/** The counts that the attributes of the conventions report. */
export function reasoningCountsIn(attributes: Attributes, { reasoningTokens }: Facts): Counts {
  return { reasoning: reasoningTokens ?? 0, total: firstCount(attributes, TOTAL_TOKENS) };
}

/**
 * Adds the reasoning tokens to the output tokens if the output excludes them. The conventions include reasoning tokens in the
 * output. Google's API counts them separately, and some instrumentations copy its numbers. The total tells: it is then the sum of
 * input, output and reasoning tokens. For a Gemini model, the rest of the total is taken for reasoning tokens even if none are
 * reported.
 */
export function addUncountedReasoning(facts: Facts, { reasoning, total, input = facts.inputTokens }: Counts): void {
  if (reasoning > 0) facts.reasoningTokens ??= reasoning;
  if (input === null || facts.outputTokens === null) return;
  const rest = total - input - facts.outputTokens;
  const isReasoning = rest === reasoning || (reasoning === 0 && GEMINI.test(facts.model ?? ''));
  if (rest <= 0 || !isReasoning) return;
  facts.outputTokens += rest;
  facts.reasoningTokens ??= rest;
}

/** Adds the reasoning tokens to output tokens that are Google's own count. `addUncountedReasoning` does not add them again. */
export function addReasoningOfGoogle(facts: Facts): void {
  if (facts.outputTokens !== null) facts.outputTokens += facts.reasoningTokens ?? 0;
}

const GEMINI = /(?:^|[/.])gemini-/i;
