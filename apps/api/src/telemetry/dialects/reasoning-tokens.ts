import type { Attributes } from '../otlp/span.ts';
import { TOTAL_TOKENS } from './cached-tokens.ts';
import { firstCount } from './fact-slots.ts';

const REASONING = [
  'gen_ai.usage.reasoning.output_tokens',
  'gen_ai.usage.reasoning_tokens',
  'llm.token_count.completion_details.reasoning',
];

/** The attributes that `uncountedReasoningTokensIn` reads. */
export const REASONING_TOKEN_NAMES: readonly string[] = [...REASONING, ...TOTAL_TOKENS];

type Counts = {
  model: string | null;
  input: number;
  output: number;
  /** 0 if they are not reported. */
  reasoning: number;
  /** 0 if it is not reported. */
  total: number;
};

type Counted = Pick<Counts, 'model' | 'input' | 'output'>;

/** The reasoning tokens in the attributes of the conventions that are not part of the output tokens. */
export function uncountedReasoningTokensIn(attributes: Attributes, counted: Counted): number {
  const [reasoning, total] = [firstCount(attributes, REASONING), firstCount(attributes, TOTAL_TOKENS)];
  return uncountedReasoningTokens({ ...counted, reasoning, total });
}

/**
 * The reasoning tokens that are not part of the output tokens. The conventions include them. Google's API counts them separately,
 * and some instrumentations copy its numbers: the total shows it. The total of a Gemini model shows them even if they are not
 * reported themselves.
 */
export function uncountedReasoningTokens({ model, input, output, reasoning, total }: Counts): number {
  const rest = total - input - output;
  if (rest <= 0) return 0;
  return rest === reasoning || (reasoning === 0 && GEMINI.test(model ?? '')) ? rest : 0;
}

const GEMINI = /(?:^|[/.])gemini-/i;
