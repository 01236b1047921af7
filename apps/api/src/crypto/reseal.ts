import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { wasNeverSealed } from '@quartermaster/db/repositories/audit-chain.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import {
  listSealedSecrets,
  replaceSealedSecret,
  type SealedRecord,
} from '@quartermaster/db/repositories/sealed-secrets.ts';
import { renewMacs } from '../audit-events/renew-macs.ts';
import { resealAnswers } from '../idempotency/reseal.ts';
import { resealFounders } from '../onboarding/founder.ts';
import { bindingOf } from '../provider-credentials/binding.ts';
import { formerSecretIdentity, secretIdentity } from '../provider-credentials/secret.ts';
import type { Services } from '../services.ts';
import { signingKeyIdentity } from '../signing-keys/service.ts';
import { FORMER_FORMAT, type SecretBox, SecretUnreadableError } from './secret-box.ts';

const BATCH_SIZE = 100;

type Needs = Pick<Services, 'db' | 'log' | 'secrets'>;
type Counts = { resealed: number; unreadable: number };

/**
 * Seals with the current key whatever a former one sealed, so that the former one can be thrown away after this start.
 * What no key opens stays as it is, and is counted: whoever uses it is told.
 */
export async function resealSecrets({ db, log, secrets }: Needs): Promise<void> {
  const counts = { resealed: 0, unreadable: 0 };
  for await (const batch of batchesOf(db)) {
    for (const record of batch) await reseal({ db, secrets }, record, counts);
  }
  const answers = await resealAnswers({ db, secrets });
  const founders = await resealFounders({ db, secrets });
  const resealed = counts.resealed + answers.resealed + founders.resealed;
  const unreadable = counts.unreadable + answers.unreadable + founders.unreadable;
  await renewMacs({ db, secrets }, 'none');
  log.info({ resealed }, 'secrets of former keys were sealed with the current one');
  if (unreadable > 0) log.error({ unreadable }, 'no key that is configured opens some secrets');
}

/**
 * Seals what an earlier version sealed in the format of this one. Provider secrets are bound to the base URL that their
 * provider has at this moment. Audit events that wait to be sealed get a MAC if they have none. The signing keys come last:
 * while one of them has the former format, the upgrade is unfinished.
 *
 * Nobody without a key makes a box of the former format, so nobody without an old copy of the database can have events
 * vouched for by a further start.
 */
export async function upgradeSecrets({ db, log, secrets }: Needs): Promise<void> {
  const counts = { resealed: 0, unreadable: 0 };
  const signingKeys: SealedRecord[] = [];
  for await (const batch of batchesOf(db, FORMER_FORMAT)) {
    for (const record of batch) {
      if (record.kind === 'signing_key') signingKeys.push(record);
      else await reseal({ db, secrets }, await withBinding(db, record), counts);
    }
  }
  const isUpgrade = counts.resealed > 0 || signingKeys.some((record) => isReadable(secrets, record));
  if (isUpgrade || (await wasNeverSealed(db))) {
    const vouched = await renewMacs({ db, secrets }, 'unmarked');
    if (vouched > 0) log.info({ vouched }, 'audit events of an earlier version that wait to be sealed got a MAC');
  }
  if (!isUpgrade) return;
  await resealAnswers({ db, secrets });
  for (const record of signingKeys) await reseal({ db, secrets }, record, counts);
  log.info(counts, 'secrets of an earlier version were sealed anew');
}

/** Whether the keys open what is stored: `none` where there is something, and they open nothing of it. */
export async function readability({
  db,
  secrets,
}: Pick<Services, 'db' | 'secrets'>): Promise<'empty' | 'some' | 'none'> {
  let found = false;
  for await (const batch of batchesOf(db)) {
    // In most databases the first one settles it.
    if (batch.some((record) => isReadable(secrets, record))) return 'some';
    found ||= batch.length > 0;
  }
  return found ? 'none' : 'empty';
}

async function* batchesOf(db: Services['db'], format?: string): AsyncGenerator<SealedRecord[]> {
  let batch: SealedRecord[] = [];
  do {
    const page = { after: batch.at(-1) ?? null, limit: BATCH_SIZE };
    batch = await listSealedSecrets(db, format === undefined ? page : { ...page, format });
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
    const sealed = secrets.reseal(record.sealed, identityOf(record), formerIdentityOf(record));
    if (sealed === null) return;
    await replaceSealedSecret(db, record, sealed);
    counts.resealed += 1;
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    counts.unreadable += 1;
  }
}

async function withBinding(db: Services['db'], record: SealedRecord): Promise<SealedRecord> {
  const scope = [{ tenantId: record.tenantId, subTenantId: null }];
  const provider = await findProvider(db, scope, record.ownerId ?? '');
  return { ...record, boundUrl: bindingOf(provider?.baseUrl ?? null) };
}

function isReadable(secrets: SecretBox, record: SealedRecord): boolean {
  try {
    secrets.reseal(record.sealed, identityOf(record), formerIdentityOf(record));
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

function formerIdentityOf({ kind, tenantId, ownerId, id }: SealedRecord): string {
  if (kind === 'signing_key') return signingKeyIdentity(id);
  return formerSecretIdentity({ tenantId, providerId: ownerId ?? '', id });
}
