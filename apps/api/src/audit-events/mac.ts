import type { AuditEvent } from '@quartermaster/contracts/audit-events.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { UnsealedEvent } from '@quartermaster/db/repositories/audit-chain.ts';
import { insertAuditEvents, type NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { textOfEvent } from './chain.ts';

/*
 * An event carries a MAC from its write on, until it is sealed: HMAC-SHA256 over the RFC 8785 form of the whole event, with
 * a key that is derived from QM_SECRET_KEY. Somebody who can write to the database has no such key, so what they insert
 * or change before it is sealed is found.
 */
const PURPOSE = 'audit event mac';

/** Appends events with their MACs, in the transaction of the write that they record. */
export function appendAuditEvents(
  db: Database,
  { secrets, now }: { secrets: SecretBox; now: Date },
  events: readonly NewAuditEvent[],
): Promise<void> {
  return insertAuditEvents(db, events, { now, macOf: (event) => macOf(secrets, event) });
}

export function macOf(secrets: SecretBox, event: AuditEvent): string {
  return secrets.mac(PURPOSE, textOfEvent(event));
}

/** Which key of ours made the MAC of an event; null where none did: it was not written so by this service. */
export function macKeyOf(
  secrets: SecretBox,
  { event, mac }: Pick<UnsealedEvent, 'event' | 'mac'>,
): 'current' | 'former' | null {
  if (typeof event === 'string' || mac === null) return null;
  return secrets.macKey(PURPOSE, textOfEvent(event), mac);
}
