import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Sessions of browsers that signed in to the web console. They belong to a user, and to no tenant. */
export const consoleSessions: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('console_sessions')
    .addColumn('id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('token_digest', 'text', (column) => column.notNull().unique())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('platform_administrator', 'integer', (column) => column.notNull())
    .addColumn('user_agent', 'text', (column) => column.notNull())
    .addColumn('id_token', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('console_sessions_by_user')
    .on('console_sessions')
    .columns(['user_id', 'created_at', 'id'])
    .execute();
  await db.schema.createIndex('console_sessions_by_expiry').on('console_sessions').columns(['expires_at']).execute();
}
