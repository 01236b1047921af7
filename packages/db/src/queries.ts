import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import { type Expression, type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Flag } from './tables/columns.ts';
import type { TenantScope } from './tenancy.ts';

/** The sort key of the last row of a page. It only uses columns that never change. */
export type PageKey = readonly [string, string];

export type PageRequest = {
  limit: number;
  after: PageKey | null;
  /** How many rows the request may scan if no index serves its filters; see `listRows`. */
  maxRowsScanned?: number;
};
export type Page<Item> = { items: Item[]; next: PageKey | null };

/** The condition that limits a query to a scope, for a table with tenant_id and sub_tenant_id. */
export function inScope(scope: TenantScope, table?: string): Expression<SqlBool> {
  const tenant = sql.ref(table === undefined ? 'tenant_id' : `${table}.tenant_id`);
  const subTenant = sql.ref(table === undefined ? 'sub_tenant_id' : `${table}.sub_tenant_id`);
  if (scope.length === 0) return sql<SqlBool>`1 = 0`;
  if (scope.some((place) => place.tenantId === null && place.subTenantId === null)) return sql<SqlBool>`1 = 1`;
  if (scope.length > MAX_LISTED_PLACES) return inManyPlaces(scope, table);
  const places = scope.map((place) => {
    if (place.subTenantId === null) return sql`${tenant} = ${place.tenantId}`;
    if (place.tenantId === null) return sql`${subTenant} = ${place.subTenantId}`;
    // `<> ''` is redundant, but the partial index of rows in sub-tenants needs this condition in the query.
    return sql`(${tenant} = ${place.tenantId} and ${subTenant} = ${place.subTenantId} and ${subTenant} <> '')`;
  });
  return sql<SqlBool>`(${sql.join(places, sql` or `)})`;
}

/** How many places a condition lists one by one: SQLite limits the depth of an expression to 1,000. */
export const MAX_LISTED_PLACES = 100;

/** The condition of {@link inScope} for many places, with lists of values. */
function inManyPlaces(scope: TenantScope, table?: string): Expression<SqlBool> {
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
  if (places.length > 0) conditions.push(tupleIn([tenant, subTenant], places));
  return sql<SqlBool>`(${sql.join(conditions, sql` or `)})`;
}

/** The condition that some columns have one of the given combinations of values. An index on these columns can serve it. */
export function tupleIn(
  columns: readonly string[],
  combinations: readonly (readonly (string | number | Buffer | null)[])[],
): Expression<SqlBool> {
  const names = columns.map((column) => sql.ref(column));
  return sql<SqlBool>`(${sql.join(names)}) in ${valueRows(combinations)}`;
}

/** Rows of values that a statement can select from: `(values (1, 'a'), (2, 'b'))`. */
export function valueRows<Row>(rows: readonly (readonly unknown[])[]): RawBuilder<Row> {
  return sql<Row>`(values ${sql.join(rows.map((values) => sql`(${sql.join(values)})`))})`;
}

/** The keyset condition of a list that is sorted by two columns, both descending: rows after the key. */
export function beforeKey(key: PageKey | null, first: string, second: string): Expression<SqlBool> {
  if (key === null) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`(${sql.ref(first)}, ${sql.ref(second)}) < (${key[0]}, ${key[1]})`;
}

/** The condition, order and limit of a page that is sorted by (created_at, id), newest first. */
export function newestFirst<DB, T extends keyof DB, O>(page: PageRequest) {
  return (query: SelectQueryBuilder<DB, T, O>): SelectQueryBuilder<DB, T, O> =>
    query
      .where(beforeKey(page.after, 'created_at', 'id'))
      .orderBy(sql.ref('created_at'), 'desc')
      .orderBy(sql.ref('id'), 'desc')
      .limit(page.limit + 1);
}

/** The pattern of LIKE for texts that contain another one. The escape character is the backslash. */
export function patternOf(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
}

/** A substring condition on a case-folded column. */
export function containsText(column: string, text: string): Expression<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} like ${patternOf(caseFolded(text))} escape ${'\\'}`;
}

/**
 * A substring condition on a column that is not case-folded. Only ASCII letters are compared in any case, because SQLite's
 * lower() changes no others.
 */
export function containsAsciiText(column: string, text: string): Expression<SqlBool> {
  return sql<SqlBool>`lower(${sql.ref(column)}) like ${patternOf(asciiLowerCase(text))} escape ${'\\'}`;
}

/** Changes ASCII letters to lower case, as `lower()` does in both databases. */
export function asciiLowerCase(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Makes a page from up to `limit + 1` rows. The extra row says that there is a next page. */
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

export function toFlag(value: boolean): Flag {
  return value ? 1 : 0;
}

/** A place as column values. */
export function placeColumns(place: { tenantId: string; subTenantId: string | null }) {
  return { tenant_id: place.tenantId, sub_tenant_id: place.subTenantId ?? '' };
}

/** The place of a row. */
export function placeOf(row: { tenant_id: string; sub_tenant_id: string }) {
  return { tenantId: row.tenant_id, subTenantId: row.sub_tenant_id === '' ? null : row.sub_tenant_id };
}

export function timesOf(row: { created_at: string; updated_at: string }) {
  return { createdAt: row.created_at, updatedAt: row.updated_at };
}

/** The page key of a row in a list that is sorted by (created_at, id). */
export function timeKey(row: { created_at: string; id: string }): PageKey {
  return [row.created_at, row.id];
}
