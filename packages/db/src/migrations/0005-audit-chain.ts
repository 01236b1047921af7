import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The sealed audit log: unsealed events, a hash chain for each tenant, and its signed heads. */
export const auditChain: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit_unsealed')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('audit_unsealed_key', ['tenant_id', 'event_id'])
    .execute();

  await db.schema
    .createTable('audit_chain')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('leaf', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('audit_chain_key', ['tenant_id', 'position'])
    .execute();
  // Finds out whether an event is sealed, and prevents sealing it twice.
  await db.schema
    .createIndex('audit_chain_by_event')
    .unique()
    .on('audit_chain')
    .columns(['tenant_id', 'event_id'])
    .execute();

  await db.schema
    .createTable('audit_heads')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('size', 'integer', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('sealed_at', 'text', (column) => column.notNull())
    .addColumn('token', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('audit_heads_key', ['tenant_id', 'size'])
    .execute();

  // Earlier events are sealed as they are now.
  await sql`insert into audit_unsealed (tenant_id, event_id) select tenant_id, id from audit_events`.execute(db);
}
