import type { ErrorCode } from '@quartermaster/contracts/errors.ts';
import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Principal } from '../access/principal.ts';
import type { Services } from '../services.ts';
import { appendAuditEvents } from './mac.ts';
import { actorOf } from './write.ts';

/** One refused request of an authenticated caller. */
type Refusal = {
  principal: Principal;
  operationId: string;
  reason: ErrorCode;
  status: number;
  requestId: string;
};

/** Refusals wait here until their minute is over, summed, so that refusing costs no write. */
export type RefusalLog = {
  note(refusal: Refusal): void;
  /** Writes what is summed: the minutes that are over, or all. */
  flush(which: 'over' | 'all'): Promise<void>;
};

/** Distinct (actor, operation, reason, minute) kept; beyond it refusals are counted as dropped, and not kept. */
const MOST_WAITING = 10_000;
const MINUTE_MS = 60_000;

export function refusalLog(
  { db, now, secrets }: Pick<Services, 'db' | 'now' | 'secrets'>,
  onDropped: () => void,
): RefusalLog {
  let waiting = new Map<string, { minute: number; event: NewAuditEvent }>();

  async function flush(which: 'over' | 'all'): Promise<void> {
    const current = Math.floor(now().getTime() / MINUTE_MS);
    const entries = [...waiting].filter(([, entry]) => which === 'all' || entry.minute < current);
    if (entries.length === 0) return;
    waiting = new Map([...waiting].filter(([key]) => !entries.some(([taken]) => taken === key)));
    const events = entries.map(([, entry]) => entry.event);
    try {
      await inTransaction(db, (trx) => appendAuditEvents(trx, { secrets, now: now() }, events));
    } catch (error) {
      // Kept for the next time, unless too many are waiting by then.
      for (const [key, entry] of entries) if (waiting.size < MOST_WAITING) waiting.set(key, entry);
      throw error;
    }
  }

  return {
    flush,
    note({ principal, operationId, reason, status, requestId }) {
      const minute = Math.floor(now().getTime() / MINUTE_MS);
      const key = JSON.stringify([
        principal.kind,
        principal.tenantId,
        principal.id,
        principal.keyId,
        operationId,
        reason,
        minute,
      ]);
      const noted = waiting.get(key);
      if (noted) {
        noted.event.count += 1;
        return;
      }
      if (waiting.size >= MOST_WAITING) {
        onDropped();
        return;
      }
      const [place] = principal.grants;
      waiting.set(key, {
        minute,
        event: {
          place: place === undefined ? null : { tenantId: place.tenantId, subTenantId: place.subTenantId },
          ...actorOf(principal),
          operation: operationId,
          target: null,
          outcome: status === 403 ? 'denied' : 'failure',
          reason,
          changedFields: [],
          count: 1,
          requestId,
        },
      });
    },
  };
}
