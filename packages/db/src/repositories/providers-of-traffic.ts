import type { InventoryItem } from '@quartermaster/contracts/inventory.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { placeColumns } from '../queries.ts';
import type { TenantPlace } from '../tenancy.ts';
import { preparedStatement } from '../prepared-statement.ts';
import { toProvider } from './providers.ts';

/** How the spans of a batch refer to providers. */
export type SeenProviders = {
  /** In lower case, without ports. */
  hosts: readonly string[];
  /** Names and aliases, case-folded. */
  names: readonly string[];
  /** Rewritten names and aliases of MCP servers: see rewrittenName. */
  families: readonly string[];
};

/**
 * The providers that traffic at a place can belong to: those of the place and of the whole tenant with one of the hosts, names or
 * aliases.
 */
export async function findProvidersOfTraffic(
  db: Database,
  place: TenantPlace,
  { hosts, names, families }: SeenProviders,
): Promise<Provider[]> {
  const rows = await providersOfTraffic(db, { ...placeColumns(place), hosts, names, families });
  return rows.map(toProvider);
}

type PlaceColumns = ReturnType<typeof placeColumns>;

const providersOfTraffic = preparedStatement(
  (db, { tenant_id, sub_tenant_id, ...seen }: PlaceColumns & SeenProviders) => {
    const { hosts, names, families } = seen;
    const nearby = ['', sub_tenant_id];
    const having = (column: 'host' | 'name_key' | 'name_family', values: readonly string[]) =>
      db
        .selectFrom('providers')
        .select('id')
        .where('tenant_id', '=', tenant_id)
        .where('sub_tenant_id', 'in', nearby)
        // A literal, not a parameter: a partial index is only used if the statement itself contains its condition.
        .where(sql<SqlBool>`status <> 'deleted'`)
        .where(column, 'in', ['', ...values]);
    const aliased = (column: 'alias_key' | 'alias_family', values: readonly string[]) =>
      db
        .selectFrom('provider_aliases')
        .select('provider_id as id')
        .where('tenant_id', '=', tenant_id)
        .where('sub_tenant_id', 'in', nearby)
        .where(column, 'in', ['', ...values]);
    // A union, since SQLite would read all providers of the tenant for conditions joined by `or`.
    const meant = having('host', hosts)
      .unionAll(having('name_key', names))
      .unionAll(having('name_family', families))
      .unionAll(aliased('alias_key', names))
      .unionAll(aliased('alias_family', families));
    return db.selectFrom('providers').selectAll().where('tenant_id', '=', tenant_id).where('id', 'in', meant);
  },
);

/**
 * The declared providers of a place and of the whole tenant whose host has one of these suffixes. For APIs of vendors with a
 * separate host for each customer or region.
 */
export async function findDeclaredProvidersByHostSuffix(
  db: Database,
  place: TenantPlace,
  suffixes: readonly string[],
): Promise<Provider[]> {
  const patterns = suffixes.map((suffix) => `%${suffix}`);
  return (await providersByHost(db, { ...placeColumns(place), patterns })).map(toProvider);
}

const providersByHost = preparedStatement(
  (db, { tenant_id, sub_tenant_id, patterns }: PlaceColumns & { patterns: readonly string[] }) =>
    db
      .selectFrom('providers')
      .selectAll()
      .where('tenant_id', '=', tenant_id)
      .where('sub_tenant_id', 'in', ['', sub_tenant_id])
      .where('status', 'in', ['active', 'disabled'])
      .where((eb) => eb.or(patterns.map((pattern) => eb('host', 'like', pattern)))),
);

/** An item of a provider that traffic at a place can belong to. */
export type OfferedItem = Pick<InventoryItem, 'providerId' | 'kind' | 'name' | 'status' | 'source'> & {
  nameKey: string;
  nameFamily: string;
};

/**
 * The items of some families at providers of a place and of its whole tenant.
 *
 * @param families of one kind; at most a few thousand
 */
export async function findOfferedItems(
  db: Database,
  place: TenantPlace,
  { kind, families }: { kind: InventoryItem['kind']; families: readonly string[] },
): Promise<OfferedItem[]> {
  if (families.length === 0) return [];
  return itemsOfFamilies(db, { ...placeColumns(place), kind, families });
}

type FamilyValues = PlaceColumns & { kind: InventoryItem['kind']; families: readonly string[] };

const itemsOfFamilies = preparedStatement((db, { kind, families, ...place }: FamilyValues) =>
  offeredItems(db, place).where('item.kind', '=', kind).where('item.name_family', 'in', families),
);

/**
 * At most `limit` tools of MCP servers that traffic at a place can belong to, and as many blocked ones, those of the whole tenant
 * first. Some tools may be in both, and thousands of other tools do not displace a blocked one.
 */
export async function listMcpTools(db: Database, place: TenantPlace, limit: number): Promise<OfferedItem[]> {
  const tools = offeredItems(db, placeColumns(place))
    .where('item.kind', '=', 'tool')
    .where('providers.kind', '=', 'mcp')
    .limit(limit);
  // A literal, not a parameter: a partial index is only used if the statement itself contains its condition.
  const blocked = tools.where(sql<SqlBool>`item.status = 'blocked'`).orderBy('providers.sub_tenant_id');
  return [...(await blocked.execute()), ...(await tools.execute())];
}

function offeredItems(db: Database, { tenant_id, sub_tenant_id }: PlaceColumns) {
  return db
    .selectFrom('inventory_items as item')
    .innerJoin('providers', (join) =>
      join.onRef('providers.tenant_id', '=', 'item.tenant_id').onRef('providers.id', '=', 'item.provider_id'),
    )
    .select(['item.provider_id as providerId', 'item.kind', 'item.name', 'item.status', 'item.source'])
    .select(['item.name_key as nameKey', 'item.name_family as nameFamily'])
    .where('item.tenant_id', '=', tenant_id)
    .where('providers.sub_tenant_id', 'in', ['', sub_tenant_id])
    .where('providers.status', '<>', sql.lit('deleted'));
}
