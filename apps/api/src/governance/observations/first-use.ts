import type { Provider } from '@quartermaster/contracts/providers.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  findProviderUses,
  type ProviderUses,
  recordProviderUses,
} from '@quartermaster/db/repositories/provider-uses.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';

/** A provider, and accounts that use it. */
type Used = { provider: Pick<Provider, 'id'>; accounts: readonly string[] };

/** Finds when accounts first used providers, and which account was the first for each provider. Returns a look-up function. */
export async function findUses(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  used: readonly Used[],
): Promise<(used: Used) => ProviderUses> {
  const asked = new Map<string, { providerId: string; account: string }>();
  for (const { provider, accounts } of used) {
    for (const account of accounts) asked.set(`${provider.id} ${account}`, { providerId: provider.id, account });
  }
  const usesOf = await findProviderUses(db, tenant, [...asked.values()]);
  return ({ provider, accounts }) => {
    const { first, uses } = usesOf(provider.id);
    return { first, uses: accounts.flatMap((account) => uses.find((use) => use.account === account) ?? []) };
  };
}

/**
 * Records that an account uses providers, and finds the uses as {@link findUses} does. The first use is the time at which
 * its first span was received, because senders choose the times in spans.
 */
export async function recordUses(
  db: Database,
  tenant: Pick<TenantPlace, 'tenantId'>,
  { used, account }: { used: readonly Used[]; account: string },
  now: Date,
): Promise<(used: Used) => ProviderUses> {
  const known = await findUses(db, tenant, used);
  const isNew = (usage: Used) => !known(usage).uses.some((use) => use.account === account);
  const providerIds = [...new Set(used.filter(isNew).map(({ provider }) => provider.id))];
  const use = { account, firstUsedAt: now.toISOString() };
  await recordProviderUses(
    db,
    tenant,
    providerIds.map((providerId) => ({ providerId, ...use })),
  );
  return (usage) => {
    const { first = use, uses } = known(usage);
    return { first, uses: isNew(usage) ? [...uses, use] : uses };
  };
}
