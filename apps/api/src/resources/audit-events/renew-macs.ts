import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  findNextUnsealedTenant,
  listUnsealedEvents,
  replaceMac,
  type UnsealedEvent,
} from '@quartermaster/db/repositories/audit-chain.ts';
import type { Services } from '../../platform/services.ts';
import { macKeyOf, macOf } from '../../platform/audit/mac.ts';

const BATCH_SIZE = 100;

/**
 * Gives the events that wait to be sealed and have a MAC of a former key a MAC of the current one.
 *
 * @param trustsAll whether events without a valid MAC get one as well, because the operator trusts them as they are
 * @returns how many had no valid MAC
 */
export async function renewMacs(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  { trustsAll = false } = {},
): Promise<number> {
  let trusted = 0;
  for (let tenantId = await findNextUnsealedTenant(db, null); tenantId !== undefined; ) {
    let batch: UnsealedEvent[] = [];
    do {
      batch = await listUnsealedEvents(db, tenantId, { after: batch.at(-1)?.id ?? null, limit: BATCH_SIZE });
      for (const unsealed of batch) {
        const { id, event } = unsealed;
        const key = macKeyOf(secrets, unsealed);
        if (typeof event === 'string' || key === 'current') continue;
        if (key === null && !trustsAll) continue;
        await replaceMac(db, tenantId, id, macOf(secrets, event));
        if (key === null) trusted += 1;
      }
      await yieldToEventLoop();
    } while (batch.length === BATCH_SIZE);
    tenantId = await findNextUnsealedTenant(db, tenantId);
  }
  return trusted;
}
