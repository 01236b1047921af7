import type { Database } from '../database.ts';
import type { TenantPlace } from '../tenancy.ts';

/** Since when an account is known to use a provider. */
export type ProviderUse = { account: string; firstUsedAt: string };

/**
 * The first uses of a provider: those by the given accounts, and the first one of all.
 *
 * @param place the provider's tenant is what counts
 */
export async function findProviderUses(
  db: Database,
  place: TenantPlace,
  providerId: string,
  accounts: readonly string[],
): Promise<{ first: ProviderUse | undefined; uses: ProviderUse[] }> {
  const all = db
    .selectFrom('provider_uses')
    .select(['account', 'first_used_at as firstUsedAt'])
    .where('tenant_id', '=', place.tenantId)
    .where('provider_id', '=', providerId);
  const first = await all.orderBy('first_used_at').orderBy('account').limit(1).executeTakeFirst();
  const uses = accounts.length === 0 ? [] : await all.where('account', 'in', accounts).execute();
  return { first, uses };
}

/** Remembers the first use of a provider by an account. */
export async function recordProviderUse(
  db: Database,
  place: TenantPlace,
  providerId: string,
  { account, firstUsedAt }: ProviderUse,
): Promise<void> {
  await db
    .insertInto('provider_uses')
    .values({ tenant_id: place.tenantId, provider_id: providerId, account, first_used_at: firstUsedAt })
    .onConflict((conflict) => conflict.columns(['tenant_id', 'provider_id', 'account']).doNothing())
    .execute();
}
