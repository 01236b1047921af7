import {
  type ColumnDefinitionBuilder,
  type CreateTableBuilder,
  type Kysely,
  PostgresAdapter,
  type RawBuilder,
  sql,
} from 'kysely';

/** A database whose tables are being created. */
export type Schema = Kysely<unknown>;

/** Shorthand for `addColumn`: the column is not nullable. */
export function required(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder {
  return column.notNull();
}

/** Shorthand for `addColumn`: the column is not nullable, and has this value in rows that do not set it. */
export function withDefault(value: string | number): (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder {
  return (column) => column.notNull().defaultTo(value);
}

type PlaceColumn = 'tenant_id' | 'sub_tenant_id';

/** The tenant and sub-tenant of a row. A row of a whole tenant has the sub-tenant '', because null would break unique indexes. */
export function addPlace<T extends string, C extends string>(
  table: CreateTableBuilder<T, C>,
): CreateTableBuilder<T, C | PlaceColumn> {
  return table.addColumn('tenant_id', 'text', required).addColumn('sub_tenant_id', 'text', required);
}

export function addTimes<T extends string, C extends string>(
  table: CreateTableBuilder<T, C>,
): CreateTableBuilder<T, C | 'created_at' | 'updated_at'> {
  return table.addColumn('created_at', 'text', required).addColumn('updated_at', 'text', required);
}

/** The foreign key of a row that belongs to a provider. */
export function addProviderReference<T extends string, C extends string>(
  name: string,
): (table: CreateTableBuilder<T, C | 'tenant_id' | 'provider_id'>) => CreateTableBuilder<T, C> {
  return (table) => table.addForeignKeyConstraint(name, ['tenant_id', 'provider_id'], 'providers', ['tenant_id', 'id']);
}

type IndexOptions = {
  unique?: boolean;
  /** The condition of a partial index, in SQL that both dialects understand. */
  where?: string;
};

export type CreateIndex = (name: string, columns: readonly string[], options?: IndexOptions) => Promise<void>;

/** A function that creates indexes on a table. Columns are `'name'` or `'name desc'`. */
export function indexesOn(db: Schema, table: string): CreateIndex {
  return async (name, columns, { unique = false, where } = {}) => {
    let index = db.schema
      .createIndex(name)
      .on(table)
      .columns([...columns]);
    if (unique) index = index.unique();
    await (where === undefined ? index : index.where(sql.raw<boolean>(where))).execute();
  };
}

/**
 * The indexes that every list of a resource needs: newest first in a tenant, over all tenants and in a sub-tenant, and a look-up
 * by id for platform administrators, who do not name a tenant. The index of sub-tenants is partial, so that it costs nothing
 * in tenants without sub-tenants.
 */
export async function addListIndexes(db: Schema, table: string): Promise<void> {
  const index = indexesOn(db, table);
  const newestFirst = ['created_at desc', 'id desc'];
  await index(`${table}_by_tenant`, ['tenant_id', ...newestFirst]);
  await index(`${table}_by_time`, newestFirst);
  await index(`${table}_by_id`, ['id']);
  await index(`${table}_by_place`, ['tenant_id', 'sub_tenant_id', ...newestFirst], { where: `sub_tenant_id <> ''` });
}

/** The dialect branches of the schema depend on it: partitions, triggers, and the type of binary columns. */
export function isPostgres(db: Schema): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}

export function blobType(db: Schema): RawBuilder<unknown> {
  return isPostgres(db) ? sql`bytea` : sql`blob`;
}

/**
 * Keeps PostgreSQL from compressing a column. Its content is compressed already, so a second attempt would cost time and
 * save nothing.
 */
export async function storeUncompressed(db: Schema, table: string, column: string): Promise<void> {
  if (!isPostgres(db)) return;
  await sql`alter table ${sql.table(table)} alter column ${sql.ref(column)} set storage external`.execute(db);
}
