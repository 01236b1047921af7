import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Aliases of providers. The provider's row contains them as written. A table of their case-folded forms makes them unique at a
 * place, and finds providers by alias.
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
