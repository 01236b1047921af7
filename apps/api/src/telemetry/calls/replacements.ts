import { allUsesOf, type CallSpan, type CallUse } from './call-span.ts';

/** The providers that replace deleted ones in a trace, by the ids of the deleted ones. */
export type Replacements = ReadonlyMap<string, CallUse['provider']>;

export const NO_REPLACEMENTS: Replacements = new Map();

/** The spans with the replacing providers. A provider that replaces another one may itself be replaced. */
export function replaceProviders(spans: readonly CallSpan[], replacements: Replacements): readonly CallSpan[] {
  if (replacements.size === 0) return spans;
  const latest = (use: CallUse): CallUse => {
    let provider = use.provider;
    for (let next = replacements.get(provider.id); next; next = replacements.get(provider.id)) provider = next;
    return provider === use.provider ? use : { ...use, provider };
  };
  const isReplaced = ({ provider }: CallUse) => replacements.has(provider.id);
  return spans.map((span) => {
    if (!allUsesOf(span).some(isReplaced)) return span;
    return { ...span, uses: span.uses.map(latest), tokensOf: span.tokensOf && latest(span.tokensOf) };
  });
}
