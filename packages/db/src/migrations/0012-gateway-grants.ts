import { createHash } from 'node:crypto';
import { type CreateTableBuilder, type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/**
 * Sessions share their grants: each set of items of a provider is stored once, and an index finds the sessions of an item.
 * Before, each session had a copy of its grants, and all copies were read to end the sessions of a blocked item.
 */
export const gatewayGrants: Migration = { up };

type Item = { kind: string; name: string };
type Grant = { providerId: string; providerName: string; items: Item[] };
type Session = { tenant_id: string; id: string; grants: string; created_at: string };

/** Sessions whose grants are in memory at once. */
const BATCH_SIZE = 50;
/** Rows of one insert: SQLite takes at most 32,766 parameters in a statement. */
const ROWS_OF_INSERT = 1000;

async function up(db: Kysely<unknown>): Promise<void> {
  const text = (table: string, columns: readonly string[]) =>
    columns.reduce<CreateTableBuilder<string, string>>(
      (builder, column) => builder.addColumn(column, 'text', (definition) => definition.notNull()),
      db.schema.createTable(table),
    );
  await text('gateway_grants', ['tenant_id', 'provider_id', 'digest', 'items', 'created_at'])
    .addColumn('item_count', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('gateway_grants_pk', ['tenant_id', 'provider_id', 'digest'])
    .execute();
  await text('gateway_grant_items', ['tenant_id', 'provider_id', 'item_key', 'digest'])
    .addPrimaryKeyConstraint('gateway_grant_items_pk', ['tenant_id', 'provider_id', 'item_key', 'digest'])
    .execute();
  await db.schema
    .createIndex('gateway_grant_items_by_grants')
    .on('gateway_grant_items')
    // The provider must not come first: SQLite would use this index for item look-ups instead of the primary key.
    .columns(['tenant_id', 'digest', 'provider_id'])
    .execute();
  await text('gateway_session_grants', ['tenant_id', 'session_id', 'provider_id', 'provider_name', 'digest'])
    .addColumn('position', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('gateway_session_grants_pk', ['tenant_id', 'session_id', 'position'])
    .execute();
  await db.schema
    .createIndex('gateway_session_grants_by_grants')
    .on('gateway_session_grants')
    .columns(['tenant_id', 'provider_id', 'digest', 'session_id'])
    .execute();
  await db.schema
    .alterTable('gateway_sessions')
    .addColumn('grants_digest', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db.schema
    .alterTable('gateway_sessions')
    .addColumn('item_count', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await moveGrants(db);
  await db.schema.alterTable('gateway_sessions').dropColumn('grants').execute();
  // Counts the open sessions of a subject.
  await db.schema
    .createIndex('gateway_sessions_open')
    .on('gateway_sessions')
    .columns(['tenant_id', 'gateway_id', 'subject', 'expires_at'])
    .where(sql.ref('revoked_at'), 'is', null)
    .execute();
}

async function moveGrants(db: Kysely<unknown>): Promise<void> {
  for (let after: [string, string] = ['', '']; ; ) {
    const { rows } = await sql<Session>`
      select tenant_id, id, grants, created_at from gateway_sessions
      where (tenant_id, id) > (${after[0]}, ${after[1]}) order by tenant_id, id limit ${BATCH_SIZE}`.execute(db);
    for (const session of rows) await moveGrantsOf(db, session);
    const last = rows.at(-1);
    if (!last || rows.length < BATCH_SIZE) return;
    after = [last.tenant_id, last.id];
  }
}

async function moveGrantsOf(db: Kysely<unknown>, session: Session): Promise<void> {
  const { tenant_id, id } = session;
  const grants = JSON.parse(session.grants) as Grant[];
  for (const [position, { providerId, providerName, items }] of grants.entries()) {
    const stored = JSON.stringify(items.map(({ kind, name }) => ({ kind, name })));
    const digest = createHash('sha256').update(stored).digest('base64url');
    const { rows } = await sql`
      insert into gateway_grants (tenant_id, provider_id, digest, items, item_count, created_at)
      values (${tenant_id}, ${providerId}, ${digest}, ${stored}, ${items.length}, ${session.created_at})
      on conflict do nothing returning digest`.execute(db);
    const keys = rows.length === 0 ? [] : [...new Set(items.map(itemKey))];
    for (let start = 0; start < keys.length; start += ROWS_OF_INSERT) {
      const values = keys
        .slice(start, start + ROWS_OF_INSERT)
        .map((key) => sql`(${tenant_id}, ${providerId}, ${key}, ${digest})`);
      await sql`
        insert into gateway_grant_items (tenant_id, provider_id, item_key, digest) values ${sql.join(values)}`.execute(
        db,
      );
    }
    await sql`
      insert into gateway_session_grants (tenant_id, session_id, position, provider_id, provider_name, digest)
      values (${tenant_id}, ${id}, ${position}, ${providerId}, ${providerName}, ${digest})`.execute(db);
  }
  // The RFC 8785 form: members are in the order of their names.
  const canonical = grants.map(({ items, providerId, providerName }) => {
    const sorted = items.map(({ kind, name }) => ({ kind, name }));
    return JSON.stringify({ items: sorted, providerId, providerName });
  });
  const whole = createHash('sha256')
    .update(`[${canonical.join(',')}]`)
    .digest('hex');
  const count = grants.reduce((sum, { items }) => sum + items.length, 0);
  await sql`
    update gateway_sessions set grants_digest = ${`sha256:${whole}`}, item_count = ${count}
    where tenant_id = ${tenant_id} and id = ${id}`.execute(db);
}

/** The key of an item in the index. Names of models are compared case-insensitively. */
function itemKey({ kind, name }: Item): string {
  const compared = kind === 'model' ? name.normalize('NFKC').toLowerCase() : name;
  return createHash('sha256').update(`${kind}\n${compared}`).digest('base64url').slice(0, 22);
}
