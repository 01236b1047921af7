import type { Database } from '@quartermaster/db/database.ts';
import { revokeSessionsOfKey, shortenSessionsOfKey } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { shortenInvitationsOfKey } from '@quartermaster/db/repositories/invitations.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';

export type KeyEnd = { revokedAt: string } | { expiresAt: string };

/**
 * Ends everything that must not outlive a key, in the transaction that ends the key: the sessions that it opened and the
 * pending invitations that it created, in every tenant. Keys that it created stay, because a rotation must not end the
 * successor.
 */
export async function endAccessOfKey(trx: Database, keyId: string, end: KeyEnd, now: Date): Promise<void> {
  if ('revokedAt' in end) await revokeSessionsOfKey(trx, EVERYWHERE, keyId, now);
  else await shortenSessionsOfKey(trx, EVERYWHERE, { keyId, end: end.expiresAt }, now);
  const time = 'revokedAt' in end ? end.revokedAt : end.expiresAt;
  await shortenInvitationsOfKey(trx, EVERYWHERE, { keyId, end: time }, now);
}
