import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Hosts of providers lose the dot at their end: `api.openai.com.` and `api.openai.com` are one host. */
export const hostsWithoutDot: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await sql`update providers set host = substr(host, 1, length(host) - 1) where host like '%.'`.execute(db);
}
