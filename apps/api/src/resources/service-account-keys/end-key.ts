import type { Credential } from '@quartermaster/contracts/credentials.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { endApiKey } from '@quartermaster/db/repositories/credentials.ts';
import { revokeSessionsOfKey, shortenSessionsOfKey } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { shortenInvitationsOfKey } from '@quartermaster/db/repositories/invitations.ts';
import { EVERYWHERE, type TenantScope } from '@quartermaster/db/tenancy.ts';
import type { AuditedChange } from '../../platform/audit/audited-write.ts';

type Writing = { trx: Database; record: (change: AuditedChange) => void; now: Date };

type Key = { tenantId: string | null; subTenantId: string | null; id: string; expiresAt: string | null };

type KeyEnd = { revokedAt: string } | { expiresAt: string };

/**
 * Revokes a key, or sets when it expires. Ends with it everything that must not outlive it: the sessions that it opened and the
 * pending invitations that it created, in every tenant. Keys that it created stay, because a rotation must not end the
 * successor.
 *
 * @returns undefined if the key is already replaced
 */
export async function endKey(
  { trx, record, now }: Writing,
  scope: TenantScope,
  key: Key,
  end: KeyEnd & { replacedBy?: string },
): Promise<Credential | undefined> {
  const ended = await endApiKey(trx, scope, key, end, now);
  if (!ended) return undefined;
  if ('revokedAt' in end) await revokeSessionsOfKey(trx, EVERYWHERE, key.id, now);
  else await shortenSessionsOfKey(trx, EVERYWHERE, { keyId: key.id, end: end.expiresAt }, now);
  const time = 'revokedAt' in end ? end.revokedAt : end.expiresAt;
  await shortenInvitationsOfKey(trx, EVERYWHERE, { keyId: key.id, end: time }, now);
  const place = { tenantId: key.tenantId ?? '', subTenantId: key.subTenantId };
  const before = { revokedAt: null, expiresAt: key.expiresAt };
  const changed = { fields: ['revokedAt' in end ? 'revokedAt' : 'expiresAt'], before, after: end };
  record({ place, target: { type: 'api_key', id: key.id }, changed });
  return ended;
}
