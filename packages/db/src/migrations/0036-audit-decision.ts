import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** What a person decided, in the audit event of the decision. Events from before have none. */
export const auditDecision: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('audit_events').addColumn('decision', 'text').execute();
}
