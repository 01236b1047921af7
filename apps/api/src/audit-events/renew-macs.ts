import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  findUnsealedTenant,
  listUnsealedEvents,
  replaceMac,
  type UnsealedEvent,
} from '@quartermaster/db/repositories/audit-chain.ts';
import type { Services } from '../services.ts';
import { macKeyOf, macOf } from './mac.ts';

const BATCH_SIZE = 100;

/**
 * Which events without a valid MAC get one: `none`; `unmarked`, those that have no MAC at all, which an earlier version
 * wrote; or `all`. The caller vouches for them as they are.
 */
export type VouchedFor = 'none' | 'unmarked' | 'all';

/**
 * Gives the events that wait to be sealed a MAC of the current key: those of a former key, and those that are vouched for.
 *
 * @returns how many were vouched for
 */
export async function renewMacs(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  vouchedFor: VouchedFor,
): Promise<number> {
  let vouched = 0;
  for (let tenantId = await findUnsealedTenant(db, null); tenantId !== undefined; ) {
    let batch: UnsealedEvent[] = [];
    do {
      batch = await listUnsealedEvents(db, tenantId, { after: batch.at(-1)?.id ?? null, limit: BATCH_SIZE });
      for (const unsealed of batch) {
        const { id, event, mac } = unsealed;
        const key = macKeyOf(secrets, unsealed);
        if (typeof event === 'string' || key === 'current') continue;
        if (key === null && !(vouchedFor === 'all' || (vouchedFor === 'unmarked' && mac === null))) continue;
        await replaceMac(db, tenantId, id, macOf(secrets, event));
        if (key === null) vouched += 1;
      }
      await yieldToEventLoop();
    } while (batch.length === BATCH_SIZE);
    tenantId = await findUnsealedTenant(db, tenantId);
  }
  return vouched;
}
