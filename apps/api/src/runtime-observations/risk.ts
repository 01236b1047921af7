import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import {
  RISK_FACTORS,
  type RiskFactor,
  type RuntimeObservation,
} from '@quartermaster/contracts/runtime-observations.ts';
import type { ProviderUse } from '@quartermaster/db/repositories/provider-uses.ts';
import { hostOf } from '@quartermaster/db/provider-names.ts';
import type { BlockedAnswer } from './declared.ts';
import { isRejectedAgain } from '../recommendations/rules/rule.ts';

type Risk = RuntimeObservation['risk'];

type Seen = {
  provider: Provider;
  item: InventoryItem | undefined;
  /** Models that answered calls, and that the inventory blocks. */
  blockedAnswers: readonly BlockedAnswer[];
  observation: Pick<RuntimeObservation, 'unknown' | 'status' | 'review' | 'evidence'>;
  /** Since when the observation's accounts use the provider, and who used it first of all. */
  uses: { first: ProviderUse | undefined; uses: readonly ProviderUse[] };
};

/** For how long the first use of a provider by an account is a risk. */
const FIRST_USE_MS = 7 * 24 * 3600 * 1000;

const LEVELS = ['high', 'medium', 'low'] as const;

/** What speaks against an observation, in words: no score that nobody can read. The heaviest factor is the level. */
export function riskOf({ provider, item, blockedAnswers, observation, uses }: Seen, now: Date): Risk {
  const { evidence, review } = observation;
  const factors: Risk['factors'] = [];
  const add = (factor: RiskFactor, reason: string) => factors.push({ factor, reason });
  if (isRejectedAgain(observation) && review) {
    add('rejected_again', `${review.reviewedBy} rejected it on ${review.reviewedAt}, and it was seen again since.`);
  }
  if (item?.status === 'blocked') add('blocked_item', 'The inventory blocks it, and it is used all the same.');
  for (const [blocking, answers] of Map.groupBy(blockedAnswers, (answer) => answer.item)) {
    const models = answers.map(({ model }) => model).join(', ');
    add('blocked_item', `The inventory blocks ${blocking}, and calls were answered by ${models}.`);
  }
  if (item?.drift) {
    add('drift', `${provider.name} changed its definition; a sync found that on ${item.drift.detectedAt}.`);
  }
  if (provider.status === 'discovered') add('unknown_provider', `Nobody declared the provider ${provider.name}.`);
  const foreign = evidence.serverAddresses.filter((address) => isForeign(provider, address));
  if (foreign.length > 0)
    add('foreign_address', `Calls went to ${foreign.join(', ')}, not to the provider's base URL.`);
  if (observation.unknown) add('unknown_item', 'No inventory item and no active manifest declares it.');
  const newcomers = uses.uses.filter((use) => isFirstUse(use, uses.first, now));
  for (const { account, firstUsedAt } of newcomers) {
    add('first_use', `${account} first used ${provider.name} on ${firstUsedAt}; others did before.`);
  }
  if (evidence.errors > 0) add('call_errors', `${evidence.errors} of its calls ended in an error.`);
  return { level: LEVELS.find((level) => factors.some(({ factor }) => levelOf(factor) === level)) ?? 'low', factors };
}

function levelOf(factor: RiskFactor): string {
  return RISK_FACTORS[factor].split(':', 1)[0] ?? '';
}

/** Of a provider that nobody used before, the first use says nothing. */
function isFirstUse(use: ProviderUse, first: ProviderUse | undefined, now: Date): boolean {
  if (!first || first.account === use.account) return false;
  return now.getTime() - Date.parse(use.firstUsedAt) < FIRST_USE_MS;
}

/** A provider without a base URL has no address of its own that others could differ from. */
function isForeign(provider: Provider, address: string): boolean {
  return provider.baseUrl !== null && hostOf(provider.baseUrl) !== address;
}
