import { multiRowStatement, together } from '../prepared-statement.ts';
import { tupleIn } from '../queries.ts';
import type { Database } from '../database.ts';
import type { TenantPlace } from '../tenancy.ts';

/** The first known use of a provider by an account. */
export type ProviderUse = { account: string; firstUsedAt: string };

/** The known uses of a provider: the very first one, and the first ones of some accounts. */
export type ProviderUses = { first: ProviderUse | undefined; uses: ProviderUse[] };

type InTenant = Pick<TenantPlace, 'tenantId'>;
type AskedUse = { providerId: string; account: string };
type UseRow = ProviderUse & { providerId: string };

/**
 * The first uses of some providers of a tenant: by the given accounts, and the very first one. Returns a look-up by the
 * provider's id.
 */
export async function findProviderUses(
  db: Database,
  { tenantId }: InTenant,
  asked: readonly AskedUse[],
): Promise<(providerId: string) => ProviderUses> {
  const providers = [...new Set(asked.map(({ providerId }) => providerId))].map((providerId) => ({ providerId }));
  const [firsts, found] = await together(db, [
    () => selectFirstUses(db, providers, { tenantId }),
    () => selectUses(db, asked, { tenantId }),
  ]);
  const uses = Map.groupBy(found, ({ providerId }) => providerId);
  const firstOf = new Map(firsts.map((first) => [first.providerId, first]));
  return (providerId) => ({ first: firstOf.get(providerId), uses: uses.get(providerId) ?? [] });
}

const selectFirstUses = multiRowStatement(
  (db, rows: readonly { providerId: string }[], { tenantId }: { tenantId: string }) =>
    db
      .selectFrom((eb) =>
        eb
          .selectFrom('provider_uses')
          .select(['provider_id', 'account', 'first_used_at'])
          .select(({ fn }) =>
            fn
              .agg<number>('row_number')
              .over((over) => over.partitionBy('provider_id').orderBy('first_used_at').orderBy('account'))
              .as('position'),
          )
          .where('tenant_id', '=', tenantId)
          .where(
            'provider_id',
            'in',
            rows.map(({ providerId }) => providerId),
          )
          .as('ranked'),
      )
      .select(['provider_id as providerId', 'account', 'first_used_at as firstUsedAt'])
      .where('position', '=', 1),
);

const selectUses = multiRowStatement((db, rows: readonly AskedUse[], { tenantId }: { tenantId: string }) =>
  db
    .selectFrom('provider_uses')
    .select(['provider_id as providerId', 'account', 'first_used_at as firstUsedAt'])
    .where('tenant_id', '=', tenantId)
    .where(
      tupleIn(
        ['provider_id', 'account'],
        rows.map(({ providerId, account }) => [providerId, account]),
      ),
    ),
);

/** Stores first uses of providers. A use that is already stored does not change. */
export async function recordProviderUses(db: Database, { tenantId }: InTenant, uses: readonly UseRow[]): Promise<void> {
  await insertUses(db, uses, { tenantId });
}

const insertUses = multiRowStatement((db, rows: readonly UseRow[], { tenantId }: { tenantId: string }) =>
  db
    .insertInto('provider_uses')
    .values(
      rows.map(({ providerId, account, firstUsedAt }) => ({
        tenant_id: tenantId,
        provider_id: providerId,
        account,
        first_used_at: firstUsedAt,
      })),
    )
    .onConflict((conflict) => conflict.columns(['tenant_id', 'provider_id', 'account']).doNothing()),
);
