import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Lists the credentials of a tenant by when they expire. Revoked ones and those that never expire are not in the index. */
export const expiringCredentials: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('credentials_by_tenant_expiry')
    .on('credentials')
    .columns(['tenant_id', 'expires_at', 'id'])
    .where(sql.ref('revoked_at'), 'is', null)
    .where(sql.ref('expires_at'), 'is not', null)
    .execute();
}
