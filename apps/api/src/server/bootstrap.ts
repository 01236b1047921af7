import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { insertAuditEvents } from '@quartermaster/db/repositories/audit-events.ts';
import { insertApiKey } from '@quartermaster/db/repositories/credentials.ts';
import {
  findServiceAccounts,
  hasPlatformAdministrator,
  insertServiceAccount,
} from '@quartermaster/db/repositories/service-accounts.ts';
import { ensurePlace } from '@quartermaster/db/repositories/tenants.ts';
import { mintApiKey, parseApiKey } from '../access/api-key-format.ts';
import { ConfigError } from '../config.ts';

/** Where the first platform administrator stands. */
export const BOOTSTRAP_PLACE = { tenantId: 'default', subTenantId: null };
const ACCOUNT_ID = 'bootstrap';

/**
 * Makes the first platform administrator where there is none: the tenant `default`, in it the account `bootstrap`, and
 * a key for it.
 *
 * @param given the key to use; made where it is null
 * @returns the key where it was made here, to be shown once; null where nothing is to be shown
 * @throws {ConfigError} for a given key that is not well-formed, even where it is not needed
 */
export async function bootstrap(db: Database, given: string | null, now: Date): Promise<string | null> {
  if (given !== null && parseApiKey(given) === null) {
    throw new ConfigError('QM_BOOTSTRAP_API_KEY: not a well-formed API key (qm_<key id>_<secret><checksum>)');
  }
  return db.transaction().execute(async (trx) => {
    if (await hasPlatformAdministrator(trx)) return null;
    await ensurePlace(trx, BOOTSTRAP_PLACE, now);
    await insertAdministrator(trx, now);
    const key = await insertAdministratorKey(trx, given, now);
    return given === null ? key : null;
  });
}

/** Another key for the bootstrap account, for when all keys are lost. The account is made where it is missing. */
export async function recoverAdministrator(db: Database, now: Date): Promise<string> {
  return db.transaction().execute(async (trx) => {
    await ensurePlace(trx, BOOTSTRAP_PLACE, now);
    const [account] = await findServiceAccounts(trx, [BOOTSTRAP_PLACE], ACCOUNT_ID, now);
    if (!account) await insertAdministrator(trx, now);
    else if (account.status !== 'active' || !account.platformAdministrator) {
      throw new Error(
        `the account ${ACCOUNT_ID} of the tenant ${BOOTSTRAP_PLACE.tenantId} is not an active platform administrator`,
      );
    }
    return insertAdministratorKey(trx, null, now);
  });
}

async function insertAdministrator(trx: Database, now: Date): Promise<void> {
  await insertServiceAccount(
    trx,
    BOOTSTRAP_PLACE,
    {
      id: ACCOUNT_ID,
      name: ACCOUNT_ID,
      displayName: 'Bootstrap administrator',
      description: 'Made by the service itself on an empty database.',
      status: 'active',
      platformAdministrator: true,
      metadata: {},
    },
    now,
  );
}

async function insertAdministratorKey(trx: Database, given: string | null, now: Date): Promise<string> {
  const minted = given === null ? null : parseApiKey(given);
  const id = minted?.keyId ?? newId('key', now);
  const { key, prefix, digest } = minted && given !== null ? { ...minted, key: given } : mintApiKey(id);
  const values = { name: 'bootstrap', scopes: ['*' as const], expiresAt: null, createdBy: null, rotationCount: 0 };
  await insertApiKey(trx, BOOTSTRAP_PLACE, { id, prefix, digest, accountId: ACCOUNT_ID, ...values }, now);
  const event = {
    place: BOOTSTRAP_PLACE,
    actor: { type: 'system' as const, id: null },
    scheme: null,
    keyId: null,
    operation: 'bootstrap',
    target: { type: 'api_key', id },
    outcome: 'success' as const,
    reason: null,
    changedFields: [],
    count: 1,
    requestId: '',
  };
  await insertAuditEvents(trx, [event], now);
  return key;
}
