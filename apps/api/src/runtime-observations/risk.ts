import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { RiskFactor, RuntimeObservation } from '@quartermaster/contracts/runtime-observations.ts';
import { hostOf } from '@quartermaster/db/repositories/providers.ts';
import type { Declared } from './unknown.ts';

type Risk = RuntimeObservation['risk'];

type Seen = {
  provider: Provider;
  declared: Declared;
  evidence: RuntimeObservation['evidence'];
};

/** How much each factor weighs; the heaviest that applies is the level. */
const LEVELS: Record<RiskFactor, Risk['level']> = {
  blocked_item: 'high',
  unknown_provider: 'high',
  foreign_address: 'high',
  unknown_item: 'medium',
  call_errors: 'low',
};

/** What speaks against an observation, in words: no score that nobody can read. */
export function riskOf({ provider, declared, evidence }: Seen): Risk {
  const factors: Risk['factors'] = [];
  const add = (factor: RiskFactor, reason: string) => factors.push({ factor, reason });
  if (declared.item?.status === 'blocked') add('blocked_item', 'The inventory blocks it, and it is used all the same.');
  if (provider.status === 'discovered') add('unknown_provider', `Nobody declared the provider ${provider.name}.`);
  const foreign = evidence.serverAddresses.filter((address) => isForeign(provider, address));
  if (foreign.length > 0)
    add('foreign_address', `Calls went to ${foreign.join(', ')}, not to the provider's base URL.`);
  if (declared.unknown) add('unknown_item', 'No inventory item and no active manifest declares it.');
  if (evidence.errors > 0) add('call_errors', `${evidence.errors} of its calls ended in an error.`);
  const levels = factors.map(({ factor }) => LEVELS[factor]);
  const level = (['high', 'medium'] as const).find((candidate) => levels.includes(candidate)) ?? 'low';
  return { level, factors };
}

/** A provider without a base URL has no address of its own that others could differ from. */
function isForeign(provider: Provider, address: string): boolean {
  return provider.baseUrl !== null && hostOf(provider.baseUrl) !== address;
}
