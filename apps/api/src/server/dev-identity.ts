import { markDevelopmentUser } from '@quartermaster/db/repositories/development-users.ts';
import { deleteIdentitiesOfUser } from '@quartermaster/db/repositories/identities.ts';
import { insertMembership } from '@quartermaster/db/repositories/memberships.ts';
import { findAccountByEmail, insertUser, NO_MARKETING } from '@quartermaster/db/repositories/users.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { DevIdentity } from '@quartermaster/dev-identity/provider.ts';
import type { Config } from '../config.ts';
import type { Services } from '../platform/services.ts';
import { explainUnwritable, makeFolderOf, pathBesideDatabase } from './beside-database.ts';
import { BOOTSTRAP_PLACE } from '../platform/bootstrap-place.ts';

/** The account that the development identity provider offers for sign-in: a platform administrator. */
const ADMINISTRATOR = { email: 'admin@example.com', displayName: 'Development administrator' };

/**
 * The development identity provider for a server that listens on `url`. The secret that its sign-ins need is in a file next
 * to the database.
 *
 * @throws {ConfigError} if that file cannot be written
 */
export async function startDevIdentity(
  config: Pick<Config, 'databaseUrl' | 'dataFolder' | 'oidc' | 'console'>,
  { url, publicUrl, port }: { url: string; publicUrl: string; port: number },
): Promise<DevIdentity> {
  // Imported only if it is used: it is as large as the service itself, and production does not have it.
  const { createDevIdentity } = await import('@quartermaster/dev-identity/provider.ts');
  const hosts = new Set(['127.0.0.1', 'localhost', '[::1]', new URL(url).hostname]);
  // Several servers may share a database or a folder, so the file name contains the server's address.
  const suffix = `sign-in-${new URL(url).host.replaceAll(/[^\w.]/g, '-')}`;
  const secretFile = pathBesideDatabase(config, suffix);
  const what = 'QM_DEV_IDENTITY: the secret of the development identity provider';
  return explainUnwritable(what, secretFile, async () => {
    await makeFolderOf(secretFile, config);
    return createDevIdentity({
      issuer: `${url}/oidc`,
      ...(config.console && {
        console: { callback: `${publicUrl}/console/callback`, signIn: `${publicUrl}/console/sign-in` },
      }),
      audience: config.oidc.audience,
      allowedHosts: [...hosts].map((host) => `${host}:${port}`),
      accounts: [ADMINISTRATOR],
      secretFile,
    });
  });
}

/**
 * Creates the development administrator if it is missing. Unlinks its identity at each start, because the provider's issuer
 * contains the port, which may have changed.
 */
export async function seedDevAdministrator({ db, now: clock }: Pick<Services, 'db' | 'now'>): Promise<void> {
  const now = clock();
  await inTransaction(db, async (trx) => {
    const former = await findAccountByEmail(trx, ADMINISTRATOR.email);
    if (former) {
      if (former.platformAdministrator) await deleteIdentitiesOfUser(trx, former.id);
      return;
    }
    const terms = { termsVersion: null, privacyVersion: null, accepted: true, acceptedAt: now.toISOString() };
    const values = { terms, marketingConsent: NO_MARKETING, source: 'development', metadata: {} };
    const status = 'pending_identity' as const;
    const user = await insertUser(trx, { ...ADMINISTRATOR, ...values, status, platformAdministrator: true }, now);
    if (!user) throw new Error('the development administrator could be neither found nor inserted');
    await markDevelopmentUser(trx, user.id, '');
    const { email } = ADMINISTRATOR;
    const membership = { userId: user.id, email, role: 'owner', acceptedAt: now.toISOString() } as const;
    await insertMembership(trx, BOOTSTRAP_PLACE, membership, now);
  });
}
