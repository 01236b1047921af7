import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Who sent the calls that several signals may report, and how many keys of calls each sender has. So one that sends many displaces
 * only its own. Keys from before have the sender ''.
 */
export const callsOfSenders: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('telemetry_calls')
    .addColumn('sender', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  // Finds the oldest calls of a sender. The former index found those of a tenant.
  await db.schema
    .createIndex('telemetry_calls_by_sender')
    .on('telemetry_calls')
    .columns(['tenant_id', 'sender', 'first_seen_at'])
    .execute();
  await db.schema.dropIndex('telemetry_calls_by_time').execute();
  await db.schema
    .createTable('telemetry_call_counts')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sender', 'text', (column) => column.notNull())
    .addColumn('calls', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('telemetry_call_counts_pk', ['tenant_id', 'sender'])
    .execute();
  await sql`
    insert into telemetry_call_counts (tenant_id, sender, calls)
    select tenant_id, '', count(*) from telemetry_calls group by tenant_id`.execute(db);
}
