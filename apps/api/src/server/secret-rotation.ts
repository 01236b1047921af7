import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { findNewestSigningKey } from '@quartermaster/db/repositories/signing-keys.ts';
import {
  listSealedSecrets,
  replaceSealedSecret,
  type SealedRecord,
} from '@quartermaster/db/repositories/sealed-secrets.ts';
import { renewMacs } from '../resources/audit-events/renew-macs.ts';
import { resealAnswers } from '../http/idempotency/reseal.ts';
import { resealFounders } from '../resources/onboarding/founder.ts';
import { secretIdentity } from '../resources/provider-credentials/secret.ts';
import type { Services } from '../platform/services.ts';
import { signingKeyIdentity } from '../resources/signing-keys/service.ts';
import { type SecretBox, SecretUnreadableError } from '../platform/secret-box.ts';

const BATCH_SIZE = 100;

type Needs = Pick<Services, 'db' | 'log' | 'secrets'>;
type Counts = { resealed: number; unreadable: number };

/**
 * Seals all secrets of former keys with the current key, so that the former keys are not needed after this start. A secret that
 * no key opens is left unchanged and counted. Its use fails with an error.
 *
 * The signing keys come last: the service does not start with a key that does not open them. So after an interrupted change it
 * does not start with the new key alone.
 */
export async function resealSecrets({ db, log, secrets }: Needs): Promise<void> {
  const counts = { resealed: 0, unreadable: 0 };
  const signingKeys: SealedRecord[] = [];
  for await (const batch of batchesOf(db)) {
    for (const record of batch) {
      if (record.kind === 'signing_key') signingKeys.push(record);
      else await reseal({ db, secrets }, record, counts);
    }
  }
  const answers = await resealAnswers({ db, secrets });
  const founders = await resealFounders({ db, secrets });
  await renewMacs({ db, secrets });
  for (const record of signingKeys) await reseal({ db, secrets }, record, counts);
  const resealed = counts.resealed + answers.resealed + founders.resealed;
  const unreadable = counts.unreadable + answers.unreadable + founders.unreadable;
  log.info({ resealed }, 'secrets of former keys were sealed with the current one');
  if (unreadable > 0) log.error({ unreadable }, 'none of the configured keys opens some secrets');
}

/**
 * Whether the keys open the stored secrets. `empty`: there are none; `none`: the keys do not open the newest signing key, or no
 * secret if there is no signing key.
 */
export async function readability({
  db,
  secrets,
}: Pick<Services, 'db' | 'secrets'>): Promise<'empty' | 'some' | 'none'> {
  const signingKey = await findNewestSigningKey(db);
  if (signingKey !== undefined) {
    const { id, sealedKey } = signingKey;
    return opens(secrets, sealedKey, signingKeyIdentity(id)) ? 'some' : 'none';
  }
  let found = false;
  for await (const batch of batchesOf(db)) {
    if (batch.some((record) => isReadable(secrets, record))) return 'some';
    found ||= batch.length > 0;
  }
  return found ? 'none' : 'empty';
}

async function* batchesOf(db: Services['db']): AsyncGenerator<SealedRecord[]> {
  let batch: SealedRecord[] = [];
  do {
    batch = await listSealedSecrets(db, { after: batch.at(-1) ?? null, limit: BATCH_SIZE });
    yield batch;
    await yieldToEventLoop();
  } while (batch.length === BATCH_SIZE);
}

async function reseal(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  record: SealedRecord,
  counts: Counts,
): Promise<void> {
  try {
    const sealed = secrets.reseal(record.sealed, identityOf(record));
    if (sealed === null) return;
    await replaceSealedSecret(db, record, sealed);
    counts.resealed += 1;
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    counts.unreadable += 1;
  }
}

function isReadable(secrets: SecretBox, record: SealedRecord): boolean {
  return opens(secrets, record.sealed, identityOf(record));
}

function opens(secrets: SecretBox, sealed: string, identity: string): boolean {
  try {
    secrets.open(sealed, identity);
    return true;
  } catch (error) {
    if (error instanceof SecretUnreadableError) return false;
    throw error;
  }
}

function identityOf({ kind, tenantId, ownerId, id, boundUrl, header, scheme }: SealedRecord): string {
  if (kind === 'signing_key') return signingKeyIdentity(id);
  return secretIdentity({ tenantId, providerId: ownerId ?? '', id, boundUrl, header, scheme });
}
