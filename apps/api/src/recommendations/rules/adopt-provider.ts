import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Rule } from './rule.ts';

export type ProviderState = {
  provider: Provider;
  /** What was seen there that it does not rest on yet. */
  observations: readonly RuntimeObservation[];
};

/**
 * Opens when traffic names a provider that nobody declared; superseded when somebody declares or deletes it. Applied: the
 * provider is active, so that gateways can list it. A base URL is for a person to give: none is taken from a span.
 */
export const adoptProvider: Rule<ProviderState> = {
  kind: 'adopt_provider',
  wanted({ provider, observations }) {
    if (provider.status !== 'discovered') return null;
    return {
      reason: `Agents use ${provider.name}, and nobody declared it.`,
      cause: 'discovered',
      rests: observations,
      change: {
        target: { type: 'provider', id: provider.id },
        before: { status: 'discovered' },
        after: { status: 'active' },
      },
    };
  },
};
