import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import type { Rule } from './rule.ts';

export type ProviderState = {
  provider: Provider;
  /** New observations of the provider. */
  observations: readonly RuntimeObservation[];
};

/**
 * Proposed when traffic names a provider that is not declared. Superseded when the provider is declared or deleted. When it is
 * applied, the provider becomes active, so gateways can list it. Its base URL is never taken from a span: a person sets it.
 */
export const adoptProvider: Rule<ProviderState> = {
  kind: 'adopt_provider',
  evaluate({ provider, observations }) {
    if (provider.status !== 'discovered') return null;
    return {
      reason: `Agents use ${provider.name}, which is not declared.`,
      cause: 'discovered',
      observations,
      change: {
        target: { type: 'provider', id: provider.id },
        before: { status: 'discovered' },
        after: { status: 'active' },
      },
    };
  },
};
