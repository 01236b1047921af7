import { rename, rm, writeFile } from 'node:fs/promises';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { insertApiKey } from '@quartermaster/db/repositories/credentials.ts';
import {
  findServiceAccounts,
  hasPlatformAdministrator,
  insertServiceAccount,
  searchServiceAccounts,
} from '@quartermaster/db/repositories/service-accounts.ts';
import { ensurePlace } from '@quartermaster/db/repositories/tenants.ts';
import { mintApiKey, parseApiKey } from '../auth/api-key-format.ts';
import { type Config, ConfigError } from '../config.ts';
import { auditedWriteAsSystem, type AuditedChange } from '../platform/audit/audited-write.ts';
import { BOOTSTRAP_PLACE } from '../platform/bootstrap-place.ts';
import type { Services } from '../platform/services.ts';
import { explainUnwritable, makeFolderOf, pathBesideDatabase } from './beside-database.ts';

const ACCOUNT_ID = 'bootstrap';

/** The operation of the audit events. */
const OPERATION = 'bootstrap';

type BootstrapServices = Pick<Services, 'db' | 'now' | 'secrets'>;

/**
 * If the database never had a platform administrator, creates the first one: the tenant `default`, with the account
 * `bootstrap` and a key.
 *
 * @param given the key to use; null generates one
 * @param keep called with a generated key before the transaction commits
 * @returns the generated key, to be shown once; null if no key was generated
 * @throws {ConfigError} for a malformed given key, even if it is not needed
 */
export async function bootstrap(
  services: BootstrapServices,
  given: string | null,
  keep: (key: string) => Promise<void> = async () => {},
): Promise<string | null> {
  if (given !== null && parseApiKey(given) === null) {
    throw new ConfigError('QM_BOOTSTRAP_API_KEY: not a well-formed API key (qm_<key id>_<secret><checksum>)');
  }
  return auditedWriteAsSystem(services, OPERATION, async (trx, record, now) => {
    if (await hasPlatformAdministrator(trx)) return null;
    await ensurePlace(trx, BOOTSTRAP_PLACE, now);
    const accountId = await insertAdministrator(trx, now);
    const key = await insertAdministratorKey(trx, record, { accountId, given }, now);
    if (given !== null) return null;
    await keep(key);
    return key;
  });
}

/**
 * Creates a key for an operator who lost all keys: for the bootstrap account, or for a new administrator if that account was
 * deleted, disabled or demoted.
 */
export async function recoverAdministrator(services: BootstrapServices): Promise<string> {
  return auditedWriteAsSystem(services, OPERATION, async (trx, record, now) => {
    await ensurePlace(trx, BOOTSTRAP_PLACE, now);
    const [account] = await findServiceAccounts(trx, [BOOTSTRAP_PLACE], ACCOUNT_ID, now);
    const usable = account?.status === 'active' && account.platformAdministrator;
    const accountId = usable ? ACCOUNT_ID : await insertAdministrator(trx, now);
    return insertAdministratorKey(trx, record, { accountId, given: null }, now);
  });
}

/**
 * Like {@link bootstrap}, but writes a generated key to a file next to the database that only its owner can read. For a
 * service whose standard output is a log.
 *
 * @returns the key and the path of its file; null if no key was generated
 * @throws {ConfigError} if the file cannot be written; then no administrator was created
 */
export async function bootstrapToFile(
  services: BootstrapServices,
  config: Pick<Config, 'databaseUrl' | 'dataFolder' | 'bootstrapApiKey'>,
): Promise<{ key: string; file: string } | null> {
  const what = 'QM_BOOTSTRAP_API_KEY: is not set, and the generated key';
  const file = pathBesideDatabase(config, 'bootstrap-key');
  // The file is written before the commit, so that a committed key is never lost. It gets its final name after the commit, so
  // that of two processes the loser does not overwrite the winner's key.
  const draft = `${file}.${process.pid}`;
  return explainUnwritable(what, file, async () => {
    const keep = async (generated: string) => {
      await makeFolderOf(draft, config);
      await rm(draft, { force: true });
      await writeFile(draft, `${generated}\n`, { flag: 'wx', mode: 0o600 });
    };
    let key: string | null = null;
    try {
      key = await bootstrap(services, config.bootstrapApiKey, keep);
    } finally {
      if (key === null) await rm(draft, { force: true });
    }
    if (key === null) return null;
    const renamed = await rename(draft, file).then(
      () => true,
      () => false,
    );
    return { key, file: renamed ? file : draft };
  });
}

/** `bootstrap`, or a new id if that was ever used: the id of a deleted account is not used again. */
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
  record: (change: AuditedChange) => void,
  { accountId, given }: { accountId: string; given: string | null },
  now: Date,
): Promise<string> {
  const minted = given === null ? null : parseApiKey(given);
  const id = minted?.keyId ?? newId('key', now);
  const { key, prefix, digest } = minted && given !== null ? { ...minted, key: given } : mintApiKey(id);
  const values = {
    id,
    prefix,
    digest,
    accountId,
    name: 'bootstrap',
    scopes: ['*' as const],
    expiresAt: null,
    createdBy: null,
    createdByKey: null,
    rotationCount: 0,
  };
  await insertApiKey(trx, BOOTSTRAP_PLACE, values, now);
  record({ place: BOOTSTRAP_PLACE, target: { type: 'api_key', id } });
  return key;
}
