import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { EXPIRING_DAYS } from '@quartermaster/contracts/credentials.ts';
import {
  type ExpiringCredential,
  listCredentialsWithObsoleteTask,
  listExpiringCredentials,
} from '@quartermaster/db/repositories/credential-expiry.ts';
import { finishOperatorTask, openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { EVERYWHERE, scopeOf, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { reconcileCredential, rotationTask } from '../../governance/rules/reconcile.ts';
import type { Services } from '../../platform/services.ts';

const EXPIRING_MS = EXPIRING_DAYS * 24 * 3600 * 1000;
const BATCH_SIZE = 100;

/**
 * Opens a rotation task for each credential that ends soon, one for each. First closes the tasks whose credential was rotated
 * or revoked in the meantime. Works in batches, because a transaction holds SQLite's only write lock.
 *
 * @returns how many tasks were opened
 */
export async function updateRotationTasks({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  const time = now();
  for (let batch = BATCH_SIZE; batch === BATCH_SIZE; ) {
    batch = await inTransaction(db, async (trx) => {
      const done = await listCredentialsWithObsoleteTask(trx, EVERYWHERE, BATCH_SIZE);
      for (const credential of done) {
        const status = credential.rotated ? 'succeeded' : 'cancelled';
        const tenant = wholeTenant(credential.tenantId);
        await finishOperatorTask(trx, tenant, rotationTask(credential), status, time);
      }
      return done.length;
    });
    await yieldToEventLoop();
  }
  let opened = 0;
  for (let batch = BATCH_SIZE; batch === BATCH_SIZE; opened += batch) {
    batch = await inTransaction(db, async (trx) => {
      const before = new Date(time.getTime() + EXPIRING_MS);
      const ending = await listExpiringCredentials(trx, EVERYWHERE, { before, limit: BATCH_SIZE }, time);
      for (const credential of ending) {
        const { expiresAt: dueAt, ownerId, kind } = credential;
        const task = { ...rotationTask(credential), title: titleOf(credential), priority: 'normal', dueAt } as const;
        await openOperatorTask(trx, credential, task, time);
        if (kind !== 'provider_secret' || ownerId === null) continue;
        const provider = await findProvider(trx, scopeOf(credential), ownerId);
        if (provider) await reconcileCredential(trx, provider, { refused: false }, time);
      }
      return ending.length;
    });
    await yieldToEventLoop();
  }
  return opened;
}

function titleOf({ kind, name, prefix, ownerName, expiresAt }: ExpiringCredential): string {
  const called = name ?? prefix;
  const what = kind === 'api_key' ? 'API key' : 'provider credential';
  return `Rotate the ${what}${called === null ? '' : ` ${called}`} of ${ownerName}, which ends at ${expiresAt}`;
}
