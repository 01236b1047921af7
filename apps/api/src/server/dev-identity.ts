import { markDevelopmentUser } from '@quartermaster/db/repositories/development-users.ts';
import { deleteIdentitiesOf } from '@quartermaster/db/repositories/identities.ts';
import { insertMembership } from '@quartermaster/db/repositories/memberships.ts';
import { findAccountByEmail, insertUser, NO_MARKETING } from '@quartermaster/db/repositories/users.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { DevIdentity } from '@quartermaster/dev-identity/provider.ts';
import type { Config } from '../config.ts';
import type { Services } from '../services.ts';
import { explainUnwritable, makeFolderOf, pathBesideDatabase } from './beside-database.ts';
import { BOOTSTRAP_PLACE } from './bootstrap.ts';

/** Who the development identity provider offers to sign in: a platform administrator. */
const ADMINISTRATOR = { email: 'admin@example.com', displayName: 'Development administrator' };

/**
 * The development identity provider for a server that listens on `publicUrl`. The secret that its sign-ins need is in a
 * file beside the database.
 *
 * @throws {ConfigError} where that file cannot be written
 */
export async function startDevIdentity(
  config: Pick<Config, 'databaseUrl' | 'oidc'>,
  { publicUrl, port }: { publicUrl: string; port: number },
): Promise<DevIdentity> {
  // Read where it runs: it is as large as the service, and none has it in production.
  const { createDevIdentity } = await import('@quartermaster/dev-identity/provider.ts');
  const hosts = new Set(['127.0.0.1', 'localhost', '[::1]', new URL(publicUrl).hostname]);
  // Several servers may share a database, or a folder: the name tells them apart as their addresses do.
  const suffix = `sign-in-${new URL(publicUrl).host.replaceAll(/[^\w.]/g, '-')}`;
  const secretFile = pathBesideDatabase(config.databaseUrl, suffix);
  const what = 'QM_DEV_IDENTITY: the secret of the development identity provider';
  return explainUnwritable(what, secretFile, async () => {
    await makeFolderOf(secretFile);
    return createDevIdentity({
      issuer: `${publicUrl}/oidc`,
      audience: config.oidc.audience,
      allowedHosts: [...hosts].map((host) => `${host}:${port}`),
      accounts: [ADMINISTRATOR],
      secretFile,
    });
  });
}

/**
 * Makes the development administrator where it is missing. Its identity is linked anew at each start, since the
 * provider's issuer goes with the port.
 */
export async function seedDevAdministrator({ db, now: clock }: Pick<Services, 'db' | 'now'>): Promise<void> {
  const now = clock();
  await inTransaction(db, async (trx) => {
    const former = await findAccountByEmail(trx, ADMINISTRATOR.email);
    if (former) {
      if (former.platformAdministrator) await deleteIdentitiesOf(trx, former.id);
      return;
    }
    const terms = { termsVersion: null, privacyVersion: null, accepted: true, acceptedAt: now.toISOString() };
    const values = { terms, marketingConsent: NO_MARKETING, source: 'development', metadata: {} };
    const status = 'pending_identity' as const;
    const user = await insertUser(trx, { ...ADMINISTRATOR, ...values, status, platformAdministrator: true }, now);
    if (!user) throw new Error('the development administrator was there, and was not');
    await markDevelopmentUser(trx, user.id, '');
    const { email } = ADMINISTRATOR;
    const membership = { userId: user.id, email, role: 'owner', acceptedAt: now.toISOString() } as const;
    await insertMembership(trx, BOOTSTRAP_PLACE, membership, now);
  });
}
