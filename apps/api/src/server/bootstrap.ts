import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { insertAuditEvents } from '@quartermaster/db/repositories/audit-events.ts';
import { insertApiKey } from '@quartermaster/db/repositories/credentials.ts';
import {
  findServiceAccounts,
  hasPlatformAdministrator,
  insertServiceAccount,
  searchServiceAccounts,
} from '@quartermaster/db/repositories/service-accounts.ts';
import { ensurePlace } from '@quartermaster/db/repositories/tenants.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { mintApiKey, parseApiKey } from '../access/api-key-format.ts';
import { ConfigError } from '../config.ts';

/** Where the first platform administrator stands. */
export const BOOTSTRAP_PLACE = { tenantId: 'default', subTenantId: null };
const ACCOUNT_ID = 'bootstrap';

/**
 * Makes the first platform administrator where there never was one: the tenant `default`, in it the account `bootstrap`, and
 * a key for it.
 *
 * @param given the key to use; one is made where it is null
 * @returns the key where it was made here, to be shown once; null where nothing is to be shown
 * @throws {ConfigError} for a given key that is not well-formed, even where it is not needed
 */
export async function bootstrap(db: Database, given: string | null, now: Date): Promise<string | null> {
  if (given !== null && parseApiKey(given) === null) {
    throw new ConfigError('QM_BOOTSTRAP_API_KEY: not a well-formed API key (qm_<key id>_<secret><checksum>)');
  }
  return inTransaction(db, async (trx) => {
    if (await hasPlatformAdministrator(trx)) return null;
    await ensurePlace(trx, BOOTSTRAP_PLACE, now);
    const accountId = await insertAdministrator(trx, now);
    const key = await insertAdministratorKey(trx, accountId, given, now);
    return given === null ? key : null;
  });
}

/**
 * A key for when all keys are lost: another one for the bootstrap account, or for an administrator of its own where that
 * account was deleted, disabled or demoted.
 */
export async function recoverAdministrator(db: Database, now: Date): Promise<string> {
  return inTransaction(db, async (trx) => {
    await ensurePlace(trx, BOOTSTRAP_PLACE, now);
    const [account] = await findServiceAccounts(trx, [BOOTSTRAP_PLACE], ACCOUNT_ID, now);
    const usable = account?.status === 'active' && account.platformAdministrator;
    const accountId = usable ? ACCOUNT_ID : await insertAdministrator(trx, now);
    return insertAdministratorKey(trx, accountId, null, now);
  });
}

/** An id is never given twice, not even after its account was deleted. */
async function freeAccountId(trx: Database, now: Date): Promise<string> {
  const page = { limit: 1, after: null };
  const [account] = await findServiceAccounts(trx, [BOOTSTRAP_PLACE], ACCOUNT_ID, now);
  const filter = { ids: [ACCOUNT_ID], status: 'deleted' as const };
  const { items } = await searchServiceAccounts(trx, [BOOTSTRAP_PLACE], filter, page, now);
  return account || items.length > 0 ? newId('sa', now) : ACCOUNT_ID;
}

/** @returns the new account's id */
async function insertAdministrator(trx: Database, now: Date): Promise<string> {
  const id = await freeAccountId(trx, now);
  await insertServiceAccount(
    trx,
    BOOTSTRAP_PLACE,
    {
      id,
      name: ACCOUNT_ID,
      displayName: 'Bootstrap administrator',
      description: 'Made by the service itself on an empty database.',
      status: 'active',
      platformAdministrator: true,
      metadata: {},
    },
    now,
  );
  return id;
}

async function insertAdministratorKey(
  trx: Database,
  accountId: string,
  given: string | null,
  now: Date,
): Promise<string> {
  const minted = given === null ? null : parseApiKey(given);
  const id = minted?.keyId ?? newId('key', now);
  const { key, prefix, digest } = minted && given !== null ? { ...minted, key: given } : mintApiKey(id);
  const values = { name: 'bootstrap', scopes: ['*' as const], expiresAt: null, createdBy: null, rotationCount: 0 };
  await insertApiKey(trx, BOOTSTRAP_PLACE, { id, prefix, digest, accountId, ...values }, now);
  const event = {
    place: BOOTSTRAP_PLACE,
    actor: { type: 'system' as const, id: null, tenantId: null },
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
