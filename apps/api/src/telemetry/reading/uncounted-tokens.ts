import { addCacheToInput } from './cached-tokens.ts';
import type { Dialect, ReadSource } from './dialect.ts';
import { countIn } from './fact-slots.ts';
import type { Facts } from './facts.ts';
import { addReasoningOfGoogle } from './reasoning-tokens.ts';

/** Adds the tokens that the sender's counts leave out, by what the dialect declares. */
export function addDeclaredTokens({ uncounted, countsOf }: Dialect, span: ReadSource, facts: Facts): void {
  for (const fact of ['inputTokens', 'outputTokens'] as const) {
    for (const name of uncounted?.[fact] ?? []) {
      if (facts[fact] !== null) facts[fact] += countIn(span.attributes[name] ?? null, { path: null }) ?? 0;
    }
  }
  const vendor = countsOf?.(span, facts) ?? null;
  if (vendor === 'anthropic' || vendor === 'aws.bedrock') addCacheToInput(facts);
  if (vendor?.startsWith('gcp.')) addReasoningOfGoogle(facts);
}
