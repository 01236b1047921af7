import { createHash } from 'node:crypto';
import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { Link, StoredEvent } from '@quartermaster/db/repositories/audit-chain.ts';
import canonicalize from 'canonicalize';

/*
 * The chain of a tenant's events. Whoever has the events as the API answers them can compute it again:
 *
 *   leaf(event)   = SHA-256("quartermaster audit event v1\0" || RFC 8785 form of the event, without callerRequestId where it is null)
 *   hash(0)       = SHA-256("quartermaster audit chain v1\0" || tenant id; nothing for the platform's own)
 *   hash(n)       = SHA-256("quartermaster audit link v1\0" || hash(n-1), 32 bytes || leaf(n), 32 bytes)
 *
 * The first words keep a digest of one kind from passing for one of another. Written in hex.
 */
const EVENT = 'quartermaster audit event v1\0';
const CHAIN = 'quartermaster audit chain v1\0';
const LINK = 'quartermaster audit link v1\0';

/** What a chain of no events ends with: chains of two tenants never have a hash in common. */
export function emptyChain(tenantId: string): string {
  return createHash('sha256').update(CHAIN).update(tenantId).digest('hex');
}

/**
 * The text of an event whose digest is sealed: its RFC 8785 form. The members are those of v1. One that events got later is
 * left out where it is not set, or what was sealed before would not verify any more.
 */
export function textOfEvent(event: AuditEvent): string {
  const { callerRequestId, ...withoutIt } = event;
  const text = canonicalize(callerRequestId === null ? withoutIt : event);
  if (text === undefined) throw new TypeError('an audit event is always JSON');
  return text;
}

/** The digest of an event. */
export function leafOf(event: StoredEvent): string {
  // What is not there, or is no event, has a digest as well: that it was so when it was sealed stays provable.
  const text = typeof event === 'string' ? event : textOfEvent(event);
  return createHash('sha256').update(EVENT).update(text).digest('hex');
}

/** The hash of a link, from the one before it. */
export function hashOf(previous: string, leaf: string): string {
  return createHash('sha256')
    .update(LINK)
    .update(Buffer.from(previous, 'hex'))
    .update(Buffer.from(leaf, 'hex'))
    .digest('hex');
}

/** Appends events to a chain that ends so. */
export function linked(
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
