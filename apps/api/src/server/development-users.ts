import type { Database } from '@quartermaster/db/database.ts';
import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import {
  type DevelopmentUser,
  findDevelopmentUsers,
  markDevelopmentUser,
  type RevokedKey,
  revokeKeysMadeBy,
} from '@quartermaster/db/repositories/development-users.ts';
import { revokeSessionsOf } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { deleteIdentitiesOf } from '@quartermaster/db/repositories/identities.ts';
import { deleteMembershipsOf } from '@quartermaster/db/repositories/memberships.ts';
import { eraseUser } from '@quartermaster/db/repositories/users.ts';
import { EVERYWHERE } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { appendAuditEvents } from '../audit-events/mac.ts';
import { type Config, ConfigError } from '../config.ts';
import type { Services } from '../services.ts';

/** Users that a start counts, and that a removal looks up at a time. */
const MOST_AT_A_TIME = 100;

const OPERATION = 'remove_development_users';

/** What a removal ended. */
export type Removed = { user: DevelopmentUser; keys: RevokedKey[]; sessions: number };

/**
 * Refuses a database that was used for development: the development identity provider signs in as anybody, so its users,
 * one of them a platform administrator, are not for a service with a real issuer. Those who were erased count as well: the
 * keys that they made still work.
 *
 * @throws {ConfigError} where there are such users
 */
export async function refuseDevelopmentUsers(
  db: Database,
  { oidc, mode }: Pick<Config, 'oidc' | 'mode'>,
): Promise<void> {
  if (oidc.issuer === null && mode !== 'production') return;
  const users = await findDevelopmentUsers(db, oidc.issuer, MOST_AT_A_TIME);
  if (users.length === 0) return;
  const count = users.length < MOST_AT_A_TIME ? `${users.length}` : `${MOST_AT_A_TIME} or more`;
  const what = `the database has users of the development identity provider (${count})`;
  throw new ConfigError(
    `DATABASE_URL: ${what}: name another database, or run npm run remove-development-users, which also ends their keys and sessions`,
  );
}

/** Removes these users with their memberships, and ends the keys and sessions that they made. Each user is a transaction. */
export async function removeDevelopmentUsers(
  services: Pick<Services, 'db' | 'now' | 'secrets'>,
  issuer: string | null,
): Promise<Removed[]> {
  const { db } = services;
  const removed: Removed[] = [];
  for (;;) {
    const users = await findDevelopmentUsers(db, issuer, MOST_AT_A_TIME);
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
  const sessions = openedWithKeys + (await revokeSessionsOf(trx, EVERYWHERE, `user:${user.id}`, now));
  await deleteMembershipsOf(trx, user.id);
  await deleteIdentitiesOf(trx, user.id);
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
