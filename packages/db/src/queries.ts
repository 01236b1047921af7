import { type Expression, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { among } from './row-statement.ts';
import type { Flag } from './tables.ts';
import type { TenantScope } from './tenancy.ts';

/** Where a page ends: the sort key of its last row. A column that changes is never part of one. */
export type PageKey = readonly [string, string];

export type PageRequest = {
  limit: number;
  after: PageKey | null;
  /** How many rows the request may look at where its filters have no index; see `listRows`. */
  maxRowsScanned?: number;
};
export type Page<Item> = { items: Item[]; next: PageKey | null };

/** The tenant condition of a query over a table with tenant_id and sub_tenant_id. */
export function within(scope: TenantScope, table?: string): Expression<SqlBool> {
  const tenant = sql.ref(table === undefined ? 'tenant_id' : `${table}.tenant_id`);
  const subTenant = sql.ref(table === undefined ? 'sub_tenant_id' : `${table}.sub_tenant_id`);
  if (scope.length === 0) return sql<SqlBool>`1 = 0`;
  if (scope.some((place) => place.tenantId === null && place.subTenantId === null)) return sql<SqlBool>`1 = 1`;
  if (scope.length > MAX_PLACES) return withinMany(scope, table);
  const places = scope.map((place) => {
    if (place.subTenantId === null) return sql`${tenant} = ${place.tenantId}`;
    if (place.tenantId === null) return sql`${subTenant} = ${place.subTenantId}`;
    // What is said of '' says nothing new, but the index of the rows in sub-tenants serves no query without it.
    return sql`(${tenant} = ${place.tenantId} and ${subTenant} = ${place.subTenantId} and ${subTenant} <> '')`;
  });
  return sql<SqlBool>`(${sql.join(places, sql` or `)})`;
}

/** Places that a condition names one by one: SQLite takes expressions of a depth of 1,000. */
export const MAX_PLACES = 100;

/** The same condition for many places, by lists of values. */
function withinMany(scope: TenantScope, table?: string): Expression<SqlBool> {
  const prefix = table === undefined ? '' : `${table}.`;
  const [tenant, subTenant] = [`${prefix}tenant_id`, `${prefix}sub_tenant_id`];
  const tenants = scope.flatMap(({ tenantId, subTenantId }) =>
    subTenantId === null && tenantId !== null ? [tenantId] : [],
  );
  const subTenants = scope.flatMap(({ tenantId, subTenantId }) => (tenantId === null ? (subTenantId ?? []) : []));
  const places = scope.flatMap(({ tenantId, subTenantId }) =>
    tenantId !== null && subTenantId !== null ? [[tenantId, subTenantId]] : [],
  );
  const conditions: Expression<SqlBool>[] = [];
  if (tenants.length > 0) conditions.push(sql`${sql.ref(tenant)} in (${sql.join(tenants)})`);
  if (subTenants.length > 0) conditions.push(sql`${sql.ref(subTenant)} in (${sql.join(subTenants)})`);
  if (places.length > 0) conditions.push(among([tenant, subTenant], places));
  return sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}

/** The keyset condition of a list that is sorted by two columns, both descending. */
export function before(key: PageKey | null, first: string, second: string): Expression<SqlBool> {
  if (key === null) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`(${sql.ref(first)}, ${sql.ref(second)}) < (${key[0]}, ${key[1]})`;
}

/** The order, place and length of a page of a list that is sorted by (created_at, id), newest first. */
export function newestFirst<DB, T extends keyof DB, O>(page: PageRequest) {
  return (query: SelectQueryBuilder<DB, T, O>): SelectQueryBuilder<DB, T, O> =>
    query
      .where(before(page.after, 'created_at', 'id'))
      .orderBy(sql.ref('created_at'), 'desc')
      .orderBy(sql.ref('id'), 'desc')
      .limit(page.limit + 1);
}

/** A substring condition on a case-folded column. */
export function contains(column: string, text: string): Expression<SqlBool> {
  const pattern = `%${folded(text).replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
  return sql<SqlBool>`${sql.ref(column)} like ${pattern} escape ${'\\'}`;
}

/** A page of `limit + 1` rows that were asked for: the one too many tells that there is a next page. */
export function pageOf<Row, Item>(
  rows: Row[],
  limit: number,
  toItem: (row: Row) => Item,
  keyOf: (row: Row) => PageKey,
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(toItem), next: rows.length > limit && last !== undefined ? keyOf(last) : null };
}

/** How names are compared without regard to case: in JavaScript, since SQL engines differ beyond ASCII. */
export function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

export function flag(value: boolean): Flag {
  return value ? 1 : 0;
}

/** A place as its columns have it. */
export function placeColumns(place: { tenantId: string; subTenantId: string | null }) {
  return { tenant_id: place.tenantId, sub_tenant_id: place.subTenantId ?? '' };
}

/** A row's place, as records have it. */
export function placeOf(row: { tenant_id: string; sub_tenant_id: string }) {
  return { tenantId: row.tenant_id, subTenantId: row.sub_tenant_id === '' ? null : row.sub_tenant_id };
}

export function timesOf(row: { created_at: string; updated_at: string }) {
  return { createdAt: row.created_at, updatedAt: row.updated_at };
}

/** The key of a list that is sorted by (created_at, id). */
export function timeKey(row: { created_at: string; id: string }): PageKey {
  return [row.created_at, row.id];
}
