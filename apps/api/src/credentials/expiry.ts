import { setImmediate as breathe } from 'node:timers/promises';
import { EXPIRING_DAYS } from '@quartermaster/contracts/credentials.ts';
import {
  type EndingCredential,
  listEndingCredentials,
  listSettledRotations,
} from '@quartermaster/db/repositories/credential-expiry.ts';
import { finishOperatorTask, openOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { findProvider } from '@quartermaster/db/repositories/providers.ts';
import { EVERYWHERE, scopeOf } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { settleCredential } from '../recommendations/settle.ts';
import type { Services } from '../services.ts';

const EXPIRING_MS = EXPIRING_DAYS * 24 * 3600 * 1000;
const OF_BATCH = 100;

/**
 * Opens a task to rotate each credential that ends soon, once for each; ends those whose credential was rotated or
 * revoked meanwhile. In batches, since each holds the only writer. Answers how many were opened.
 */
export async function openRotations({ db, now }: Pick<Services, 'db' | 'now'>): Promise<number> {
  const time = now();
  for (let batch = OF_BATCH; batch === OF_BATCH; ) {
    batch = await inTransaction(db, async (trx) => {
      const settled = await listSettledRotations(trx, EVERYWHERE, OF_BATCH);
      for (const credential of settled) {
        const task = { kind: 'rotate_credential', subject: { type: 'credential', id: credential.id } } as const;
        const status = credential.rotated ? 'succeeded' : 'cancelled';
        const tenant = [{ tenantId: credential.tenantId, subTenantId: null }];
        await finishOperatorTask(trx, tenant, task, status, time);
      }
      return settled.length;
    });
    await breathe();
  }
  let opened = 0;
  for (let batch = OF_BATCH; batch === OF_BATCH; opened += batch) {
    batch = await inTransaction(db, async (trx) => {
      const before = new Date(time.getTime() + EXPIRING_MS);
      const ending = await listEndingCredentials(trx, EVERYWHERE, { before, limit: OF_BATCH }, time);
      for (const credential of ending) {
        const { id, expiresAt: dueAt, ownerId, kind } = credential;
        const subject = { type: 'credential', id } as const;
        const task = { kind: 'rotate_credential', subject, priority: 'normal', dueAt } as const;
        await openOperatorTask(trx, credential, { ...task, title: titleOf(credential) }, time);
        if (kind !== 'provider_secret' || ownerId === null) continue;
        const provider = await findProvider(trx, scopeOf(credential), ownerId);
        if (provider) await settleCredential(trx, provider, { refused: false }, time);
      }
      return ending.length;
    });
    await breathe();
  }
  return opened;
}

function titleOf({ kind, name, prefix, id, ownerId, expiresAt }: EndingCredential): string {
  const what = kind === 'api_key' ? 'API key' : 'provider credential';
  return `Rotate the ${what} ${name ?? prefix ?? id} of ${ownerId}, which ends at ${expiresAt}`;
}
