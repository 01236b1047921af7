import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Principal } from '../access/principal.ts';
import type { Services } from '../services.ts';
import { appendAuditEvents } from './mac.ts';

/** What a write says of itself for the audit. */
export type Change = {
  /** Where the record stands; null: it belongs to no tenant. */
  place: TenantPlace | null;
  target: NonNullable<AuditEvent['target']>;
  /** The names of the fields that changed, never their values. */
  changed?: readonly string[];
  /** Why it failed, where that is what was written down. */
  failure?: ErrorCode;
};

type WriteContext = {
  services: Pick<Services, 'db' | 'now' | 'secrets'>;
  requestId: string;
  callerRequestId?: string | null;
  principal: Principal | 'system' | null;
  operation: Pick<Operation, 'operationId'>;
};

/**
 * Runs an administrative write in one transaction together with the audit events of what it changed. Whatever throws
 * undoes both. A write that finds nothing to change records nothing.
 */
export async function write<T>(
  ctx: WriteContext,
  work: (trx: Database, record: (change: Change) => void, now: Date) => Promise<T>,
): Promise<T> {
  const now = ctx.services.now();
  return inTransaction(ctx.services.db, async (trx) => {
    const changes: Change[] = [];
    const answer = await work(trx, (change) => changes.push(change), now);
    const { secrets } = ctx.services;
    await appendAuditEvents(
      trx,
      { secrets, now },
      changes.map((change) => eventOf(ctx, change)),
    );
    return answer;
  });
}

/**
 * The same for what the service does without being asked: the actor is the system.
 *
 * @param operation what it does, in the manner of an operationId
 */
export function writeAsSystem<T>(
  services: WriteContext['services'],
  operation: string,
  work: (trx: Database, record: (change: Change) => void, now: Date) => Promise<T>,
): Promise<T> {
  return write({ services, requestId: '', principal: 'system', operation: { operationId: operation } }, work);
}

function eventOf(ctx: WriteContext, change: Change): NewAuditEvent {
  return {
    place: change.place,
    ...actorOf(ctx.principal),
    operation: ctx.operation.operationId,
    target: change.target,
    outcome: change.failure === undefined ? 'success' : 'failure',
    reason: change.failure ?? null,
    changedFields: [...(change.changed ?? [])].toSorted(),
    count: 1,
    requestId: ctx.requestId,
    callerRequestId: ctx.callerRequestId ?? null,
  };
}

/** Who acts, as audit events have it. */
export function actorOf(principal: Principal | 'system' | null): Pick<AuditEvent, 'actor' | 'scheme' | 'keyId'> {
  if (principal === 'system') return { actor: { type: 'system', id: null, tenantId: null }, scheme: null, keyId: null };
  if (principal === null) return { actor: { type: 'anonymous', id: null, tenantId: null }, scheme: null, keyId: null };
  return {
    actor: { type: principal.kind, id: principal.id, tenantId: principal.tenantId },
    scheme: principal.scheme,
    keyId: principal.keyId,
  };
}

/** The fields of an update that would change the record: an update of nothing writes nothing. */
export function changedFields<Rec extends object>(record: Rec, change: Partial<Rec>): string[] {
  return Object.entries(change)
    .filter(([name, value]) => value !== undefined && !same(value, record[name as keyof Rec]))
    .map(([name]) => name);
}

function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
