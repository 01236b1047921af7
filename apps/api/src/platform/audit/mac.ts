import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { UnsealedEvent } from '@quartermaster/db/repositories/audit-chain.ts';
import { insertAuditEvents, type NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import { textOfEvent } from './chain.ts';

/*
 * Each event has a MAC until it is sealed: HMAC-SHA256 over the RFC 8785 form of the whole event, with a key derived from
 * QM_SECRET_KEY. An attacker with write access to the database does not have that key, so inserted or changed events are
 * detected.
 */
const PURPOSE = 'audit event mac';

/** Makes and checks MACs. The secret box implements it. */
export type EventMacs = {
  mac(purpose: string, text: string): string;
  macKey(purpose: string, text: string, mac: string): 'current' | 'former' | null;
};

/** Appends events with their MACs, in the transaction of the write that they record. */
export function appendAuditEvents(
  db: Database,
  { secrets, now }: { secrets: EventMacs; now: Date },
  events: readonly NewAuditEvent[],
): Promise<void> {
  return insertAuditEvents(db, events, { now, macOf: (event) => macOf(secrets, event) });
}

export function macOf(secrets: EventMacs, event: AuditEvent): string {
  return secrets.mac(PURPOSE, textOfEvent(event));
}

/** Which of our keys made the MAC of an event. Null if none did: then this service did not write the event in this form. */
export function macKeyOf(
  secrets: EventMacs,
  { event, mac }: Pick<UnsealedEvent, 'event' | 'mac'>,
): 'current' | 'former' | null {
  if (typeof event === 'string' || mac === null) return null;
  return secrets.macKey(PURPOSE, textOfEvent(event), mac);
}
