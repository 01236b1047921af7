import { type Kysely, PostgresAdapter, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The calls that log records counted, so that a span can replace them. Null for keys from before: their calls stay as they are. */
export const callsOfRecords: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('telemetry_calls').addColumn('record_key', 'text').execute();
  const blob = db.getExecutor().adapter instanceof PostgresAdapter ? sql`bytea` : sql`blob`;
  await db.schema.alterTable('telemetry_calls').addColumn('counted_call', blob).execute();
}
