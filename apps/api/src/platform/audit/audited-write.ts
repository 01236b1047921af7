import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { ServiceAction } from '@quartermaster/contracts/audit-operations.ts';
import type { ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { type ChangedFields, keptValues } from './kept-values.ts';
import { appendAuditEvents, type EventMacs } from './mac.ts';

/** A change that a write reports for the audit. */
export type AuditedChange = {
  /** The name of the event, if it is not that of the operation. */
  operation?: ServiceAction;
  /** The place of the record; null if it belongs to no tenant. */
  place: TenantPlace | null;
  target: NonNullable<AuditEvent['target']>;
  /** The fields that changed. The event keeps their values only as {@link keptValues} says. */
  changed?: ChangedFields;
  /** What was decided, if the change is a decision. */
  decision?: AuditEvent['decision'];
  /** Set if the change records a failure: its reason. */
  failure?: ErrorCode;
};

/** The actor of an audit event. A `Principal` has all of these members. */
export type Actor = {
  kind: 'service_account' | 'user';
  id: string;
  tenantId: string | null;
  scheme: 'api_key' | 'bearer' | 'session';
  keyId: string | null;
};

type WriteContext = {
  services: { db: Database; now: () => Date; secrets: EventMacs };
  requestId: string;
  callerRequestId?: string | null;
  principal: Actor | 'system' | null;
  operation: Pick<Operation, 'operationId'>;
};

/**
 * Runs an administrative write and appends the audit events of its changes, in one transaction. If `work` throws, both are
 * rolled back. A write that changes nothing should record nothing.
 */
export async function auditedWrite<T>(
  ctx: WriteContext,
  work: (trx: Database, record: (change: AuditedChange) => void, now: Date) => Promise<T>,
): Promise<T> {
  const now = ctx.services.now();
  return inTransaction(ctx.services.db, async (trx) => {
    const changes: AuditedChange[] = [];
    const answer = await work(trx, (change) => changes.push(change), now);
    const events = changes.map((change) => eventOf(ctx, change));
    await appendAuditEvents(trx, { secrets: ctx.services.secrets, now }, events);
    return answer;
  });
}

/**
 * {@link auditedWrite} for background work. The actor of the events is the system.
 *
 * @param operation its name in the events
 */
export function auditedWriteAsSystem<T>(
  services: WriteContext['services'],
  operation: ServiceAction | 'sync_provider_inventory',
  work: (trx: Database, record: (change: AuditedChange) => void, now: Date) => Promise<T>,
): Promise<T> {
  return auditedWrite({ services, requestId: '', principal: 'system', operation: { operationId: operation } }, work);
}

function eventOf(ctx: WriteContext, change: AuditedChange): NewAuditEvent {
  return {
    place: change.place,
    ...actorOf(ctx.principal),
    operation: change.operation ?? ctx.operation.operationId,
    target: change.target,
    outcome: change.failure === undefined ? 'success' : 'failure',
    reason: change.failure ?? null,
    changedFields: [...(change.changed?.fields ?? [])].toSorted(),
    changes: change.changed ? keptValues(change.changed) : [],
    decision: change.decision ?? null,
    count: 1,
    requestId: ctx.requestId,
    callerRequestId: ctx.callerRequestId ?? null,
  };
}

/** The actor and the credential in the form of audit events. */
export function actorOf(principal: Actor | 'system' | null): Pick<AuditEvent, 'actor' | 'scheme' | 'keyId'> {
  if (principal === 'system') return { actor: { type: 'system', id: null, tenantId: null }, scheme: null, keyId: null };
  if (principal === null) return { actor: { type: 'anonymous', id: null, tenantId: null }, scheme: null, keyId: null };
  return {
    actor: { type: principal.kind, id: principal.id, tenantId: principal.tenantId },
    scheme: principal.scheme,
    keyId: principal.keyId,
  };
}

/** The names of the fields whose value in `change` differs from the record. */
export function changedFields<Rec extends object>(record: Rec, change: Partial<Rec>): string[] {
  return Object.entries(change)
    .filter(([name, value]) => value !== undefined && !isSame(value, record[name as keyof Rec]))
    .map(([name]) => name);
}

/** The change of a record that is deleted: the fields that it had. Its event keeps what they were. */
export function deletedFields<Rec extends object>(record: Rec, names: readonly (keyof Rec & string)[]): ChangedFields {
  return { fields: names.filter((name) => record[name] != null), before: record, after: {} };
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
