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
 * Which events without a valid MAC get one: `none`; `without_mac`, which an earlier version wrote without any MAC; or `all`.
 * The caller trusts them as they are.
 */
export type TrustedEvents = 'none' | 'without_mac' | 'all';

/**
 * Gives the events that wait to be sealed a MAC of the current key: those with a MAC of a former key, and those that the
 * caller trusts without a valid MAC.
 *
 * @returns how many had no valid MAC
 */
export async function renewMacs(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  trustedEvents: TrustedEvents,
): Promise<number> {
  let trusted = 0;
  for (let tenantId = await findNextUnsealedTenant(db, null); tenantId !== undefined; ) {
    let batch: UnsealedEvent[] = [];
    do {
      batch = await listUnsealedEvents(db, tenantId, { after: batch.at(-1)?.id ?? null, limit: BATCH_SIZE });
      for (const unsealed of batch) {
        const { id, event, mac } = unsealed;
        const key = macKeyOf(secrets, unsealed);
        if (typeof event === 'string' || key === 'current') continue;
        const isTrusted = trustedEvents === 'all' || (trustedEvents === 'without_mac' && mac === null);
        if (key === null && !isTrusted) continue;
        await replaceMac(db, tenantId, id, macOf(secrets, event));
        if (key === null) trusted += 1;
      }
      await yieldToEventLoop();
    } while (batch.length === BATCH_SIZE);
    tenantId = await findNextUnsealedTenant(db, tenantId);
  }
  return trusted;
}
