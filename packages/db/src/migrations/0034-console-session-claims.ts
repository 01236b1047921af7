import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Which claim made the user of a session a platform administrator. A session of an earlier version has none, so its user signs
 * in again to be an administrator by claim.
 */
export const consoleSessionClaims: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('console_sessions').addColumn('administrator_claim', 'text').execute();
}
