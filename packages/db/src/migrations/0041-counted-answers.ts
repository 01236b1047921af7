import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Whose stored bytes include a kept answer. Null for keys from before, and of earlier releases: that of their tenant. */
export const countedAnswers: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('idempotency_keys').addColumn('counted_for', 'text').execute();
}
