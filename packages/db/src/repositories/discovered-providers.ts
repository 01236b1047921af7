import type { Provider } from '@quartermaster/contracts/providers.ts';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { newId } from '../ids.ts';
import { rewrittenName } from '@quartermaster/naming/name-family.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { placeColumns } from '../queries.ts';
import { multiRowStatement } from '../prepared-statement.ts';
import type { TenantPlace } from '../tenancy.ts';

/** A new provider that was discovered in traffic, and is not declared. It is not stored yet. */
export function discoveredProvider(
  place: TenantPlace,
  { name, kind }: Pick<Provider, 'name' | 'kind'>,
  now: Date,
): Provider {
  const { tenantId, subTenantId } = place;
  const time = now.toISOString();
  return {
    id: newId('prov', now),
    tenantId,
    subTenantId,
    name,
    aliases: [],
    displayName: null,
    description: null,
    kind,
    baseUrl: null,
    status: 'discovered',
    health: 'unknown',
    healthReason: null,
    unhealthySince: null,
    inventorySyncedAt: null,
    syncIntervalSeconds: null,
    newItems: 'review',
    headers: [],
    mcp: null,
    metadata: {},
    createdAt: time,
    updatedAt: time,
  };
}

/**
 * Stores discovered providers of one place.
 *
 * @param account the account whose traffic they were discovered in
 * @throws DuplicateKeyError if a name is taken
 */
export async function insertDiscoveredProviders(
  db: Database,
  place: TenantPlace,
  { providers, account }: { providers: readonly Provider[]; account: string },
): Promise<void> {
  const rows = providers.map(({ id, name, kind, createdAt }) => ({
    id,
    name,
    nameKey: caseFolded(name),
    nameFamily: rewrittenName(name),
    kind,
    createdAt,
  }));
  await insertRows(db, rows, { ...placeColumns(place), account });
}

type ProviderRow = Pick<Provider, 'id' | 'name' | 'kind' | 'createdAt'> & { nameKey: string; nameFamily: string };

const insertRows = multiRowStatement(
  (
    db,
    rows: readonly ProviderRow[],
    { tenant_id, sub_tenant_id, account }: ReturnType<typeof placeColumns> & { account: string },
  ) =>
    db.insertInto('providers').values(
      rows.map(({ id, name, nameKey, nameFamily, kind, createdAt }) => ({
        tenant_id,
        sub_tenant_id,
        id,
        name,
        name_key: nameKey,
        name_family: nameFamily,
        aliases: '[]',
        display_name: null,
        description: null,
        kind,
        base_url: null,
        host: null,
        status: 'discovered' as const,
        health: 'unknown' as const,
        inventory_synced_at: null,
        metadata: '{}',
        discovered_by: account,
        created_at: createdAt,
        updated_at: createdAt,
      })),
    ),
);

/** Counts the discovered providers: those from the traffic of an account, and those in a sub-tenant. */
export async function countDiscoveredProviders(
  db: Database,
  place: TenantPlace,
  account: string,
): Promise<{ ofAccount: number; ofSubTenant: number }> {
  const { tenant_id, sub_tenant_id } = placeColumns(place);
  const discovered = () =>
    db
      .selectFrom('providers')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant_id', '=', tenant_id)
      .where('status', '=', sql.lit('discovered' as const));
  const ofAccount = await discovered().where('discovered_by', '=', account).executeTakeFirstOrThrow();
  const ofSubTenant = await discovered().where('sub_tenant_id', '=', sub_tenant_id).executeTakeFirstOrThrow();
  return { ofAccount: Number(ofAccount.count), ofSubTenant: Number(ofSubTenant.count) };
}

/** Deletes discovered providers of a tenant that nothing refers to: see findEmptiedProviders. */
export async function deleteDiscoveredProviders(
  db: Database,
  { tenantId }: Pick<TenantPlace, 'tenantId'>,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  const rows = ids.map((id) => ({ id }));
  await deleteRows(db, rows, { tenantId, now: now.toISOString() });
}

const deleteRows = multiRowStatement(
  (db, rows: readonly { id: string }[], { tenantId, now }: { tenantId: string; now: string }) =>
    db
      .updateTable('providers')
      .set({ status: 'deleted', updated_at: now })
      .where('tenant_id', '=', tenantId)
      .where('status', '=', 'discovered')
      .where(
        'id',
        'in',
        rows.map(({ id }) => id),
      ),
);
