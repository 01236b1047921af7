import type { Database } from '@quartermaster/db/database.ts';
import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import {
  type DevelopmentUser,
  findDevelopmentUsers,
  markDevelopmentUser,
  type RevokedKey,
  revokeKeysMadeBy,
} from '@quartermaster/db/repositories/development-users.ts';
import { deleteConsoleSessionsOf } from '@quartermaster/db/repositories/console-sessions.ts';
import { revokeSessionsOfPrincipal } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { deleteIdentitiesOfUser } from '@quartermaster/db/repositories/identities.ts';
import { deleteMembershipsOfUser } from '@quartermaster/db/repositories/memberships.ts';
import { eraseUser } from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { appendAuditEvents } from '../platform/audit/mac.ts';
import { type Config, ConfigError } from '../config.ts';
import type { Services } from '../platform/services.ts';

/** Users that a start counts, and that a removal reads at a time. */
const BATCH_SIZE = 100;

const OPERATION = 'remove_development_users';

/** What a removal ended. */
export type Removed = { user: DevelopmentUser; keys: RevokedKey[]; sessions: number };

/**
 * Checks that a service with a real issuer does not use a database with development users. The development identity provider
 * lets anyone sign in as any user, and one of its users is a platform administrator. Erased users count as well, because the
 * keys that they created still work.
 *
 * @throws {ConfigError} if there are such users
 */
export async function requireNoDevelopmentUsers(
  db: Database,
  { oidc, mode }: Pick<Config, 'oidc' | 'mode'>,
): Promise<void> {
  if (oidc.issuer === null && mode !== 'production') return;
  const users = await findDevelopmentUsers(db, oidc.issuer, BATCH_SIZE);
  if (users.length === 0) return;
  const count = users.length < BATCH_SIZE ? `${users.length}` : `${BATCH_SIZE} or more`;
  const what = `the database has users of the development identity provider (${count})`;
  throw new ConfigError(
    `DATABASE_URL: ${what}: name another database, or run npm run remove-development-users, which also ends their keys and sessions`,
  );
}

/** Removes development users with their memberships, and ends the keys and sessions that they created. One transaction each. */
export async function removeDevelopmentUsers(
  services: Pick<Services, 'db' | 'now' | 'secrets'>,
  issuer: string | null,
): Promise<Removed[]> {
  const { db } = services;
  const removed: Removed[] = [];
  for (;;) {
    const users = await findDevelopmentUsers(db, issuer, BATCH_SIZE);
    if (users.length === 0) return removed;
    for (const user of users)
      removed.push(await inTransaction(db, (trx) => removeUser({ ...services, db: trx }, user)));
  }
}

async function removeUser(
  { db: trx, now: clock, secrets }: Pick<Services, 'db' | 'now' | 'secrets'>,
  user: DevelopmentUser,
): Promise<Removed> {
  const now = clock();
  const { keys, sessions: openedWithKeys } = await revokeKeysMadeBy(trx, user.id, now);
  const sessions = openedWithKeys + (await revokeSessionsOfPrincipal(trx, EVERYWHERE, `user:${user.id}`, now));
  await deleteConsoleSessionsOf(trx, user.id);
  await deleteMembershipsOfUser(trx, user.id);
  await deleteIdentitiesOfUser(trx, user.id);
  await eraseUser(trx, user.id, now);
  await markDevelopmentUser(trx, user.id, null);
  const events = [
    eventOf({
      place: null,
      target: { type: 'user', id: user.id },
      changedFields: user.erased ? [] : ['status'],
    }),
    ...keys.map(({ id, tenantId, subTenantId }) =>
      eventOf({ place: { tenantId, subTenantId }, target: { type: 'api_key', id }, changedFields: ['revokedAt'] }),
    ),
  ];
  await appendAuditEvents(trx, { secrets, now }, events);
  return { user, keys, sessions };
}

function eventOf(what: Pick<NewAuditEvent, 'place' | 'target' | 'changedFields'>): NewAuditEvent {
  return {
    ...what,
    actor: { type: 'system', id: null, tenantId: null },
    scheme: null,
    keyId: null,
    operation: OPERATION,
    outcome: 'success',
    reason: null,
    count: 1,
    requestId: '',
  };
}
