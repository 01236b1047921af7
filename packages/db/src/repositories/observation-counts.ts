import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import { tupleIn } from '../queries.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace } from '../tenancy.ts';

// Counters of observations: for each tenant, each sub-tenant, and each account that reported observations first.

/** The account and the sub-tenant that an observation counts for. */
export type ObservationHolder = Pick<TenantPlace, 'subTenantId'> & {
  /** The account that reported it first; '' if no account did. */
  firstAccount: string;
};

/** How many observations a tenant has. */
export async function countObservations(db: Database, { tenantId }: Pick<TenantPlace, 'tenantId'>): Promise<number> {
  const row = await db.selectFrom('tenants').select('observation_count').where('id', '=', tenantId).executeTakeFirst();
  return row?.observation_count ?? 0;
}

/** Counts the observations of a tenant that an account reported first, and those in a sub-tenant. */
export async function countObservationShares(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  { firstAccount, subTenantId }: ObservationHolder,
): Promise<{ ofAccount: number; ofSubTenant: number }> {
  const rows = await db
    .selectFrom('observation_shares')
    .select(['holder_type', 'observations'])
    .where('tenant_id', '=', tenantId)
    .where(
      tupleIn(
        ['holder_type', 'holder_id'],
        [
          ['account', firstAccount],
          ['sub_tenant', subTenantId ?? ''],
        ],
      ),
    )
    .execute();
  const countOf = (type: HolderType) => rows.find((row) => row.holder_type === type)?.observations ?? 0;
  return { ofAccount: countOf('account'), ofSubTenant: countOf('sub_tenant') };
}

/**
 * Changes the counters for created or deleted observations (`by` is negative), in the transaction that creates or deletes them.
 * It locks the tenant's row first, so that two transactions cannot deadlock on the other counters.
 */
export async function addToObservationCounts(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  changes: readonly (ObservationHolder & { by: number })[],
): Promise<void> {
  const added = changes.reduce((sum, { by }) => sum + by, 0);
  if (added === 0) return;
  await db
    .updateTable('tenants')
    .set((eb) => ({ observation_count: eb('observation_count', '+', added) }))
    .where('id', '=', tenantId)
    .execute();
  await addToShares(db, sharesOf(changes), { tenantId });
  if (added > 0) return;
  await db.deleteFrom('observation_shares').where('tenant_id', '=', tenantId).where('observations', '<=', 0).execute();
}

type HolderType = Tables['observation_shares']['holder_type'];
type Share = { holderType: HolderType; holderId: string; by: number };

/** Adds up the changes of each account and sub-tenant. */
function sharesOf(changes: readonly (ObservationHolder & { by: number })[]): Share[] {
  const shares = new Map<string, Share>();
  const add = (holderType: HolderType, holderId: string, by: number) => {
    const key = `${holderType} ${holderId}`;
    shares.set(key, { holderType, holderId, by: (shares.get(key)?.by ?? 0) + by });
  };
  for (const { firstAccount, subTenantId, by } of changes) {
    add('account', firstAccount, by);
    add('sub_tenant', subTenantId ?? '', by);
  }
  return [...shares.values()];
}

const addToShares = multiRowStatement((db, rows: readonly Share[], { tenantId }: { tenantId: string }) =>
  db
    .insertInto('observation_shares')
    .values(
      rows.map(({ holderType, holderId, by }) => ({
        tenant_id: tenantId,
        holder_type: holderType,
        holder_id: holderId,
        observations: by,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'holder_type', 'holder_id']).doUpdateSet({
        observations: sql<number>`${sql.ref('observation_shares.observations')} + ${sql.ref('excluded.observations')}`,
      }),
    ),
);
