import { createHash } from 'node:crypto';
import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { Link, StoredEvent } from '@quartermaster/db/repositories/audit-chain.ts';

/*
 * The hash chain of a tenant's events. Anyone who has the events as the API returns them can compute it again:
 *
 *   leaf(event)   = SHA-256("quartermaster audit event v1\0" || RFC 8785 form of the event, without callerRequestId and decision where they are null)
 *   hash(0)       = SHA-256("quartermaster audit chain v1\0" || tenant id, or nothing for the platform's own chain)
 *   hash(n)       = SHA-256("quartermaster audit link v1\0" || hash(n-1), 32 bytes || leaf(n), 32 bytes)
 *
 * The prefixes keep a digest of one kind from being used as one of another kind. Digests are written in hex.
 */
const EVENT = 'quartermaster audit event v1\0';
const CHAIN = 'quartermaster audit chain v1\0';
const LINK = 'quartermaster audit link v1\0';

/** The hash before the first link. It depends on the tenant, so two chains never share a hash. */
export function emptyChainHash(tenantId: string): string {
  return createHash('sha256').update(CHAIN).update(tenantId).digest('hex');
}

/**
 * The text of an event whose digest is sealed: its RFC 8785 form. A member that was added after v1 is left out if it is null,
 * because otherwise older sealed events would no longer verify.
 *
 * The function runs three times for each event, and a general canonicalizer takes five times as long. So the members are listed
 * here in the order of their names. JSON.stringify writes texts and numbers as RFC 8785 requires, and omits undefined members.
 */
export function textOfEvent(event: AuditEvent): string {
  const { actor, target } = event;
  return JSON.stringify({
    actor: { id: actor.id, tenantId: actor.tenantId, type: actor.type } satisfies AllMembersOf<AuditEvent['actor']>,
    callerRequestId: event.callerRequestId ?? undefined,
    changedFields: event.changedFields,
    changes: event.changes.map(
      ({ after, before, field }) => ({ after, before, field }) satisfies AllMembersOf<AuditEvent['changes'][number]>,
    ),
    count: event.count,
    createdAt: event.createdAt,
    decision: event.decision ?? undefined,
    id: event.id,
    keyId: event.keyId,
    operation: event.operation,
    outcome: event.outcome,
    reason: event.reason,
    requestId: event.requestId,
    scheme: event.scheme,
    subTenantId: event.subTenantId,
    target: target && ({ id: target.id, type: target.type } satisfies AllMembersOf<NonNullable<AuditEvent['target']>>),
    tenantId: event.tenantId,
    updatedAt: event.updatedAt,
  } satisfies AllMembersOf<AuditEvent>);
}

/** Makes the compiler refuse a text that lacks a member of the contract. */
type AllMembersOf<Contract> = Record<keyof Contract, unknown>;

/** The digest of an event. */
export function leafOf(event: StoredEvent): string {
  // A missing or unreadable event has a digest as well. It proves that the event was missing or unreadable when it was sealed.
  const text = typeof event === 'string' ? event : textOfEvent(event);
  return createHash('sha256').update(EVENT).update(text).digest('hex');
}

/** The hash of a link, computed from the hash of the link before it. */
export function hashOf(previous: string, leaf: string): string {
  return createHash('sha256')
    .update(LINK)
    .update(Buffer.from(previous, 'hex'))
    .update(Buffer.from(leaf, 'hex'))
    .digest('hex');
}

/** The links that append `events` to a chain with this end. */
export function linksFor(
  end: Pick<Link, 'position' | 'hash'>,
  events: readonly { id: string; event: StoredEvent }[],
): Link[] {
  let { position, hash } = end;
  return events.map(({ id, event }) => {
    const leaf = leafOf(event);
    position += 1;
    hash = hashOf(hash, leaf);
    return { position, eventId: id, leaf, hash };
  });
}
