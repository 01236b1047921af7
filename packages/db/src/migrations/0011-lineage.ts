import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Keys and sessions record the key that created them. Invitations record the inviter, and when they expire. So everything that
 * derives from a key or a person can be found, and ended together with it.
 */
export const lineage: Migration = { up };

const INVITATION_MS = 14 * 24 * 3600 * 1000;

/** The operations whose audit events say which key created a key. */
const MADE_KEYS = ['create_service_account_key', 'rotate_service_account_key'];

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('credentials').addColumn('created_by_key', 'text').execute();
  await db.schema.alterTable('gateway_sessions').addColumn('opened_by_key', 'text').execute();
  await db.schema.alterTable('memberships').addColumn('invited_by', 'text').execute();
  await db.schema.alterTable('memberships').addColumn('invited_by_key', 'text').execute();
  await db.schema.alterTable('memberships').addColumn('expires_at', 'text').execute();

  // A key without such an audit event gets no creator. The first event of a key is the one of its creation.
  await sql`
    update credentials set created_by_key = (
      select event.key_id from audit_events as event
      where event.id = made.event_id and event.tenant_id = made.tenant_id)
    from (
      select tenant_id, target_id, min(id) as event_id from audit_events
      where operation in (${sql.join(MADE_KEYS.map((name) => sql.lit(name)))}) and target_type = 'api_key'
      group by tenant_id, target_id) as made
    where made.tenant_id = credentials.tenant_id and made.target_id = credentials.id`.execute(db);
  // Pending invitations were sent without an expiry, so they get the full time from now on.
  const expiresAt = new Date(Date.now() + INVITATION_MS).toISOString();
  await sql`update memberships set expires_at = ${expiresAt} where accepted_at is null`.execute(db);

  const index = (name: string, table: string, columns: string[]) =>
    db.schema
      .createIndex(`${table}_${name}`)
      .on(table)
      .columns(columns)
      .where(sql.ref(columns[0] ?? ''), 'is not', null)
      .execute();
  await index('by_maker_key', 'credentials', ['created_by_key', 'tenant_id']);
  await index('by_maker', 'credentials', ['created_by', 'tenant_id']);
  await index('by_successor', 'credentials', ['replaced_by', 'tenant_id']);
  await index('by_opener_key', 'gateway_sessions', ['opened_by_key', 'tenant_id']);
  await index('by_inviter', 'memberships', ['invited_by', 'tenant_id']);
  await index('by_inviter_key', 'memberships', ['invited_by_key', 'tenant_id']);
  await index('by_expiry', 'memberships', ['expires_at']);
}
