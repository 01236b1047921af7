import type { Denial } from '@quartermaster/contracts/denials.ts';
import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import {
  highestRisk,
  RISK_FACTORS,
  type RiskFactor,
  type RiskLevel,
  RiskLevelSchema,
  type RuntimeObservation,
} from '@quartermaster/contracts/runtime-observations.ts';
import type { ProviderUse } from '@quartermaster/db/repositories/provider-uses.ts';
import { hostOf } from '@quartermaster/naming/provider-names.ts';
import type { BlockedAnswer } from '../declarations/declared.ts';
import { isRejectedAgain } from '../rules/rule.ts';

type Risk = RuntimeObservation['risk'];

type RiskInputs = {
  provider: Provider;
  item: InventoryItem | undefined;
  /** Blocked models that answered calls of the observation. */
  blockedAnswers: readonly BlockedAnswer[];
  observation: Pick<
    RuntimeObservation,
    'unknown' | 'status' | 'review' | 'occurrences' | 'denials' | 'lastDeniedAt' | 'evidence'
  >;
  /** When the observation's accounts first used the provider, and which account was the first of all. */
  uses: { first: ProviderUse | undefined; uses: readonly ProviderUse[] };
};

/** How long the first use of a provider by an account counts as a risk. */
const FIRST_USE_MS = 7 * 24 * 3600 * 1000;

/** Whether the inventory blocks what agents use, or its provider is disabled. */
export function isBlockedUse({ risk }: Pick<RuntimeObservation, 'risk'>): boolean {
  return risk.factors.some(({ factor }) => factor === 'blocked_item' || factor === 'disabled_provider');
}

/** The risk factors of an observation, each with its reason in words. The level is the highest level of the factors. */
export function computeRisk({ provider, item, blockedAnswers, observation, uses }: RiskInputs, now: Date): Risk {
  const { evidence, review, occurrences } = observation;
  // Without calls, the observation comes from a sync or from denied uses.
  const butUsed = occurrences > 0 ? ', but agents use it' : '';
  const factors: Risk['factors'] = [];
  const add = (factor: RiskFactor, reason: string) => factors.push({ factor, reason });
  if (isRejectedAgain(observation) && review) {
    add(
      'rejected_again',
      `${review.reviewedBy} rejected it on ${review.reviewedAt}, and it was seen again after that.`,
    );
  }
  if (item?.status === 'blocked') add('blocked_item', `The inventory blocks it${butUsed}.`);
  for (const [blocking, answers] of Map.groupBy(blockedAnswers, (answer) => answer.item.name)) {
    const models = answers.map(({ model }) => model).join(', ');
    add('blocked_item', `The inventory blocks ${blocking}, but calls were answered by ${models}.`);
  }
  if (item?.drift) {
    add(
      'drift',
      `${provider.name} changed its definition after it was accepted. A sync found the change on ${item.drift.detectedAt}.`,
    );
  }
  if (provider.status === 'discovered') add('unknown_provider', `The provider ${provider.name} is not declared.`);
  if (provider.status === 'disabled') {
    add('disabled_provider', `The provider ${provider.name} is disabled${butUsed}.`);
  }
  const foreign = evidence.serverAddresses.filter((address) => isForeign(provider, address));
  if (foreign.length > 0) add('foreign_address', `Calls went to ${foreign.join(', ')}, not to the provider's address.`);
  if (observation.unknown) add('unknown_item', whyUnknown(item));
  const newcomers = uses.uses.filter((use) => isFirstUse(use, uses.first, now));
  for (const { account, firstUsedAt } of newcomers) {
    add('first_use', `${account} first used ${provider.name} on ${firstUsedAt}, and other accounts used it before.`);
  }
  const { denials, lastDeniedAt } = observation;
  if (denials > 0) {
    const why = evidence.deniedReasons.map((reason) => DENIED_BECAUSE[reason]).join(', and ');
    add(
      'denied_use',
      `Gateways denied it, or would have in the mode enforce: ${times(denials)}, last on ${lastDeniedAt}, because ${why}.`,
    );
  }
  if (evidence.errors > 0) add('call_errors', `${evidence.errors} of its calls ended in an error.`);
  return { level: highestRisk(factors.map(({ factor }) => levelOf(factor))) ?? 'low', factors };
}

const DENIED_BECAUSE: Readonly<Record<Denial, string>> = {
  not_in_inventory: 'the inventory does not have it',
  blocked: 'it is blocked',
  manifest: 'the manifest of the gateway does not allow it',
  provider_disabled: 'its provider is disabled',
  provider_not_in_session: 'the session was opened for other providers',
  provider_not_listed: 'the gateway does not list its provider',
};

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

function whyUnknown(item: InventoryItem | undefined): string {
  if (item?.status !== 'pending') return 'No inventory item and no active manifest declares it.';
  const renamed =
    item.renamedFrom === null ? '' : ` It has the definition of ${item.renamedFrom}, which is no longer listed.`;
  return `A sync found it after the first one, and no person has decided about it.${renamed}`;
}

function levelOf(factor: RiskFactor): RiskLevel {
  return RiskLevelSchema.options.find((level) => RISK_FACTORS[factor].startsWith(`${level}:`)) ?? 'low';
}

/** The first use is a risk only if another account used the provider before. */
function isFirstUse(use: ProviderUse, first: ProviderUse | undefined, now: Date): boolean {
  if (!first || first.account === use.account) return false;
  return now.getTime() - Date.parse(use.firstUsedAt) < FIRST_USE_MS;
}

/** Whether an address differs from the provider's own. A provider without a base URL has no address to compare with. */
function isForeign(provider: Provider, address: string): boolean {
  return provider.baseUrl !== null && hostOf(provider.baseUrl) !== address;
}
