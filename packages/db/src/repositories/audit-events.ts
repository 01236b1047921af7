import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { Insertable, Selectable } from 'kysely';
import { inBatches } from '../batches.ts';
import type { Database } from '../database.ts';
import { newAuditEventId } from '../ids.ts';
import { inKeysetRange, type KeysetRange, listRows } from '../listing.ts';
import { inScope, type Page, type PageRequest, placeColumns } from '../queries.ts';
import { preparedStatement, together } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';

/** An event before it is stored. The platform's own events have a null place. */
export type NewAuditEvent = Omit<
  AuditEvent,
  'id' | 'tenantId' | 'subTenantId' | 'changes' | 'decision' | 'callerRequestId' | 'createdAt' | 'updatedAt'
> & {
  place: TenantPlace | null;
  changes?: AuditEvent['changes'];
  decision?: AuditEvent['decision'];
  callerRequestId?: string | null;
};

export type AuditEventFilter = {
  actorId?: string | null | undefined;
  operation?: string | null | undefined;
  targetId?: string | null | undefined;
  outcome?: string | null | undefined;
  decision?: AuditEvent['decision'] | undefined;
  createdAfter?: string | null | undefined;
  createdBefore?: string | null | undefined;
};

/** `macOf` computes the MAC of a stored event with a key that is not in the database. */
export type AuditInsert = { now: Date; macOf: (event: AuditEvent) => string };

/**
 * Appends events, in the transaction of the write that they record. Events are never changed or deleted. They are sealed later,
 * in the order of their ids: see audit-chain.ts.
 */
export async function insertAuditEvents(
  db: Database,
  events: readonly NewAuditEvent[],
  insert: AuditInsert,
): Promise<void> {
  for await (const batch of inBatches(events, BATCH_SIZE)) await insertBatch(db, batch, insert);
}

/** Rows of one insert: SQLite takes at most 32,766 parameters in a statement. */
const BATCH_SIZE = 500;

const newEvents = preparedStatement((db, { rows }: { rows: readonly Insertable<Tables['audit_events']>[] }) =>
  db.insertInto('audit_events').values(rows),
);
const newUnsealed = preparedStatement((db, { rows }: { rows: readonly Insertable<Tables['audit_unsealed']>[] }) =>
  db.insertInto('audit_unsealed').values(rows),
);

async function insertBatch(db: Database, events: readonly NewAuditEvent[], { now, macOf }: AuditInsert): Promise<void> {
  const rows = events.map((event) => {
    const row = newRow(event, now);
    return { ...row, mac: macOf(toAuditEvent(row)) };
  });
  const unsealed = rows.map(({ tenant_id, id }) => ({ tenant_id, event_id: id }));
  await together(db, [() => newEvents(db, { rows }), () => newUnsealed(db, { rows: unsealed })]);
}

function newRow(event: NewAuditEvent, now: Date) {
  return {
    id: newAuditEventId(now),
    ...(event.place === null ? { tenant_id: '', sub_tenant_id: '' } : placeColumns(event.place)),
    created_at: now.toISOString(),
    actor_type: event.actor.type,
    actor_id: event.actor.id,
    actor_tenant_id: event.actor.tenantId,
    scheme: event.scheme,
    key_id: event.keyId,
    operation: event.operation,
    target_type: event.target?.type ?? null,
    target_id: event.target?.id ?? null,
    outcome: event.outcome,
    reason: event.reason,
    changed_fields: JSON.stringify(event.changedFields),
    changes: JSON.stringify(event.changes ?? []),
    decision: event.decision ?? null,
    count: event.count,
    request_id: event.requestId,
    caller_request_id: event.callerRequestId ?? null,
  };
}

/** Newest first. */
export async function listAuditEvents(
  db: Database,
  scope: TenantScope,
  filter: AuditEventFilter,
  page: PageRequest,
): Promise<Page<AuditEvent>> {
  const { actorId, operation, targetId, outcome, decision, createdAfter, createdBefore } = filter;
  const { rows, next } = await listRows(db, scope, page, {
    table: 'audit_events',
    hasUnindexedFilter: [actorId, operation, targetId, outcome, decision].some((one) => one != null),
    times: { after: createdAfter, before: createdBefore },
    rows: (range) => eventRows(db, filter, range).execute(),
  });
  return { items: rows.map(toAuditEvent), next };
}

function eventRows(db: Database, filter: AuditEventFilter, range: KeysetRange) {
  let query = db.selectFrom('audit_events').selectAll().where(inScope(range.scope));
  if (filter.actorId != null) query = query.where('actor_id', '=', filter.actorId);
  if (filter.operation != null) query = query.where('operation', '=', filter.operation);
  if (filter.targetId != null) query = query.where('target_id', '=', filter.targetId);
  if (filter.outcome != null) query = query.where('outcome', '=', filter.outcome as AuditEvent['outcome']);
  if (filter.decision != null) query = query.where('decision', '=', filter.decision);
  if (filter.createdAfter != null) query = query.where('created_at', '>', filter.createdAfter);
  return query.$call(inKeysetRange(range));
}

export function toAuditEvent(row: Omit<Selectable<Tables['audit_events']>, 'mac'>): AuditEvent {
  return {
    id: row.id,
    tenantId: row.tenant_id === '' ? null : row.tenant_id,
    subTenantId: row.sub_tenant_id === '' ? null : row.sub_tenant_id,
    actor: { type: row.actor_type, id: row.actor_id, tenantId: row.actor_tenant_id },
    scheme: row.scheme,
    keyId: row.key_id,
    operation: row.operation,
    target: row.target_type === null || row.target_id === null ? null : { type: row.target_type, id: row.target_id },
    outcome: row.outcome,
    reason: row.reason,
    decision: row.decision,
    changedFields: JSON.parse(row.changed_fields) as string[],
    changes: JSON.parse(row.changes) as AuditEvent['changes'],
    count: row.count,
    requestId: row.request_id,
    callerRequestId: row.caller_request_id,
    createdAt: row.created_at,
    updatedAt: row.created_at,
  };
}
