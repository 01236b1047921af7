import { addListIndexes, addPlace, indexesOn, required, type Schema } from './schema.ts';

/** The audit log: events, those that are not sealed yet, a hash chain for each tenant, and its signed heads (ADR 10). */
export async function createAuditTables(db: Schema): Promise<void> {
  await db.schema
    .createTable('audit_events')
    .$call(addPlace)
    .addColumn('id', 'text', required)
    .addColumn('created_at', 'text', required)
    .addColumn('actor_type', 'text', required)
    .addColumn('actor_id', 'text')
    .addColumn('actor_tenant_id', 'text')
    .addColumn('scheme', 'text')
    .addColumn('key_id', 'text')
    .addColumn('operation', 'text', required)
    .addColumn('target_type', 'text')
    .addColumn('target_id', 'text')
    .addColumn('outcome', 'text', required)
    .addColumn('reason', 'text')
    .addColumn('changed_fields', 'text', required)
    .addColumn('changes', 'text', required)
    .addColumn('count', 'integer', required)
    .addColumn('request_id', 'text', required)
    // Shows until the event is sealed that this service wrote it. The key is outside of the database.
    .addColumn('mac', 'text')
    .addColumn('caller_request_id', 'text')
    .addColumn('decision', 'text')
    .addPrimaryKeyConstraint('audit_events_key', ['tenant_id', 'id'])
    .execute();
  await addListIndexes(db, 'audit_events');

  await db.schema
    .createTable('audit_unsealed')
    .addColumn('tenant_id', 'text', required)
    .addColumn('event_id', 'text', required)
    .addPrimaryKeyConstraint('audit_unsealed_key', ['tenant_id', 'event_id'])
    .execute();

  await db.schema
    .createTable('audit_chain')
    .addColumn('tenant_id', 'text', required)
    .addColumn('position', 'integer', required)
    .addColumn('event_id', 'text', required)
    .addColumn('leaf', 'text', required)
    .addColumn('hash', 'text', required)
    .addPrimaryKeyConstraint('audit_chain_key', ['tenant_id', 'position'])
    .execute();
  // Finds out whether an event is sealed, and prevents sealing it twice.
  await indexesOn(db, 'audit_chain')('audit_chain_by_event', ['tenant_id', 'event_id'], { unique: true });

  await db.schema
    .createTable('audit_heads')
    .addColumn('tenant_id', 'text', required)
    .addColumn('size', 'integer', required)
    .addColumn('hash', 'text', required)
    .addColumn('sealed_at', 'text', required)
    .addColumn('token', 'text', required)
    .addPrimaryKeyConstraint('audit_heads_key', ['tenant_id', 'size'])
    .execute();
}
