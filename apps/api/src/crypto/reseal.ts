import { setImmediate as breathe } from 'node:timers/promises';
import {
  listSealedSecrets,
  replaceSealedSecret,
  type SealedRecord,
} from '@quartermaster/db/repositories/sealed-secrets.ts';
import { resealAnswers } from '../idempotency/reseal.ts';
import { secretIdentity } from '../provider-credentials/secret.ts';
import type { Services } from '../services.ts';
import { signingKeyIdentity } from '../signing-keys/service.ts';
import { type SecretBox, SecretUnreadableError } from './secret-box.ts';

const OF_BATCH = 100;

/**
 * Seals with the current key whatever a former one sealed, so that the former one can be thrown away after this start.
 * What no key opens stays as it is, and is counted: whoever uses it is told.
 */
export async function resealSecrets({ db, log, secrets }: Pick<Services, 'db' | 'log' | 'secrets'>): Promise<void> {
  let resealed = 0;
  let unreadable = 0;
  let batch: SealedRecord[] = [];
  do {
    batch = await listSealedSecrets(db, { after: batch.at(-1) ?? null, limit: OF_BATCH });
    for (const record of batch) {
      try {
        const sealed = secrets.reseal(record.sealed, identityOf(record));
        if (sealed === null) continue;
        await replaceSealedSecret(db, record, sealed);
        resealed += 1;
      } catch (error) {
        if (!(error instanceof SecretUnreadableError)) throw error;
        unreadable += 1;
      }
    }
    await breathe();
  } while (batch.length === OF_BATCH);
  const answers = await resealAnswers({ db, secrets });
  resealed += answers.resealed;
  unreadable += answers.unreadable;
  log.info({ resealed }, 'secrets of former keys were sealed with the current one');
  if (unreadable > 0) log.error({ unreadable }, 'no key that is configured opens some secrets');
}

/** Whether the keys open what is stored: `none` where there is something, and they open nothing of it. */
export async function readability({
  db,
  secrets,
}: Pick<Services, 'db' | 'secrets'>): Promise<'empty' | 'some' | 'none'> {
  let found = false;
  let batch: SealedRecord[] = [];
  do {
    batch = await listSealedSecrets(db, { after: batch.at(-1) ?? null, limit: OF_BATCH });
    // In most databases the first one settles it.
    if (batch.some((record) => isReadable(secrets, record))) return 'some';
    found ||= batch.length > 0;
    await breathe();
  } while (batch.length === OF_BATCH);
  return found ? 'none' : 'empty';
}

function isReadable(secrets: SecretBox, record: SealedRecord): boolean {
  try {
    secrets.open(record.sealed, identityOf(record));
    return true;
  } catch (error) {
    if (error instanceof SecretUnreadableError) return false;
    throw error;
  }
}

function identityOf({ kind, tenantId, ownerId, id }: SealedRecord): string {
  if (kind === 'signing_key') return signingKeyIdentity(id);
  return secretIdentity({ tenantId, providerId: ownerId ?? '', id });
}
