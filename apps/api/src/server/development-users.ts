import type { Database } from '@quartermaster/db/database.ts';
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
import { type Config, ConfigError } from '../config.ts';
import { installation } from '../installation.ts';
import { auditedWriteAsSystem, type AuditedChange } from '../platform/audit/audited-write.ts';
import type { Services } from '../platform/services.ts';

/** Users that a start counts, and that a removal reads at a time. */
const BATCH_SIZE = 100;

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
    `DATABASE_URL: ${what}: name another database, or run ${installation.commandLine('remove-development-users')}, which also ends their keys and sessions`,
  );
}

/** Removes development users with their memberships, and ends the keys and sessions that they created. One transaction each. */
export async function removeDevelopmentUsers(
  services: Pick<Services, 'db' | 'now' | 'secrets'>,
  issuer: string | null,
): Promise<Removed[]> {
  const removed: Removed[] = [];
  for (;;) {
    const users = await findDevelopmentUsers(services.db, issuer, BATCH_SIZE);
    if (users.length === 0) return removed;
    for (const user of users) {
      removed.push(
        await auditedWriteAsSystem(services, 'remove_development_users', (trx, record, now) =>
          removeUser(trx, record, user, now),
        ),
      );
    }
  }
}

async function removeUser(
  trx: Database,
  record: (change: AuditedChange) => void,
  user: DevelopmentUser,
  now: Date,
): Promise<Removed> {
  const { keys, sessions: openedWithKeys } = await revokeKeysMadeBy(trx, user.id, now);
  const sessions = openedWithKeys + (await revokeSessionsOfPrincipal(trx, EVERYWHERE, `user:${user.id}`, now));
  await deleteConsoleSessionsOf(trx, user.id);
  await deleteMembershipsOfUser(trx, user.id);
  await deleteIdentitiesOfUser(trx, user.id);
  await eraseUser(trx, user.id, now);
  await markDevelopmentUser(trx, user.id, null);
  const changed = { fields: user.erased ? [] : ['status'], before: {}, after: { status: 'deleted' } };
  record({ place: null, target: { type: 'user', id: user.id }, changed });
  for (const { id, tenantId, subTenantId } of keys) {
    const revoked = { fields: ['revokedAt'], before: {}, after: { revokedAt: now.toISOString() } };
    record({ place: { tenantId, subTenantId }, target: { type: 'api_key', id }, changed: revoked });
  }
  return { user, keys, sessions };
}
