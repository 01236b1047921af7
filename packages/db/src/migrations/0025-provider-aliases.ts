import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Other names of providers. A provider's row holds them as they are written; a table of their case-folded forms makes them
 * unique in a place, and finds providers by them.
 */
export const providerAliases: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('providers')
    .addColumn('aliases', 'text', (column) => column.notNull().defaultTo('[]'))
    .execute();
  // Providers are looked up by their hosts with each batch of spans.
  await db.schema
    .createIndex('providers_by_host')
    .on('providers')
    .columns(['tenant_id', 'host'])
    .where(sql.ref('host'), 'is not', null)
    .execute();
  await db.schema
    .createTable('provider_aliases')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sub_tenant_id', 'text', (column) => column.notNull())
    .addColumn('alias_key', 'text', (column) => column.notNull())
    .addColumn('alias_family', 'text', (column) => column.notNull())
    .addColumn('provider_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('provider_aliases_pk', ['tenant_id', 'sub_tenant_id', 'alias_key'])
    .execute();
  await db.schema
    .createIndex('provider_aliases_by_provider')
    .on('provider_aliases')
    .columns(['tenant_id', 'provider_id'])
    .execute();
  await db.schema
    .createIndex('provider_aliases_by_family')
    .on('provider_aliases')
    .columns(['tenant_id', 'alias_family'])
    .execute();
}
