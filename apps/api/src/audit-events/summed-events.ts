import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import type { Services } from '../services.ts';
import { appendAuditEvents } from './mac.ts';
import { actorOf } from './write.ts';

/** Events that wait in memory until their minute is over, summed, so that noting one costs no write. */
export type SummedEvents = {
  /** Counts one event. Those that are the same but for their request are one event with a count. */
  note(event: NewAuditEvent): void;
  /** Writes what is summed: the minutes that are over, or all. */
  flush(which: 'over' | 'all'): Promise<void>;
};

export type SumOptions = {
  /** The operation of the event that counts what a tenant has beyond its limit. */
  overflow: string;
  /** Hears of each event that is not even counted. */
  onDropped: () => void;
  /** Writes events, all or none; into the audit where it is left out. */
  write?: (events: readonly NewAuditEvent[]) => Promise<void>;
  limits?: Partial<SumLimits>;
};

type SumLimits = {
  /**
   * Distinct events of one tenant in one minute. Beyond it they are one event with a count for each actor, and beyond as
   * many again one for the tenant.
   */
  ofTenant: number;
  /** Distinct events that wait: the same for all tenants together, then they are dropped. */
  waiting: number;
};

const LIMITS: SumLimits = { ofTenant: 1000, waiting: 10_000 };
const MINUTE_MS = 60_000;

/** Events of one transaction: other writers have their turns in between. */
const BATCH_SIZE = 500;

type Minute = { events: Map<string, NewAuditEvent>; distinct: Map<string, number> };

export function summedEvents(
  { db, now, secrets }: Pick<Services, 'db' | 'now' | 'secrets'>,
  { overflow, onDropped, limits = {}, ...options }: SumOptions,
): SummedEvents {
  const most = { ...LIMITS, ...limits };
  const minutes = new Map<number, Minute>();
  let waiting = 0;

  const append = (events: readonly NewAuditEvent[]) =>
    inTransaction(db, (trx) => appendAuditEvents(trx, { secrets, now: now() }, events));
  const write = options.write ?? append;

  function add(minute: number, event: NewAuditEvent): void {
    const kept = minutes.get(minute) ?? { events: new Map(), distinct: new Map() };
    minutes.set(minute, kept);
    const tenantId = event.place?.tenantId ?? '';
    const distinct = kept.distinct.get(tenantId) ?? 0;
    const forms = [event, overflowOfActor(event, overflow), overflowOfTenant(event, overflow)];
    // How far the tenant, and all of them together, are beyond their limits.
    const steps = [distinct / most.ofTenant, waiting / most.waiting].map(Math.floor);
    const first = Math.max(...steps);
    for (const [step, form] of forms.entries()) {
      const key = keyOf(form);
      if (count(kept, key, form)) return;
      if (step < first && step < forms.length - 1) continue;
      if (waiting >= forms.length * most.waiting) break;
      kept.events.set(key, { ...form });
      kept.distinct.set(tenantId, distinct + 1);
      waiting += 1;
      return;
    }
    onDropped();
  }

  async function flush(which: 'over' | 'all'): Promise<void> {
    const current = minuteOf(now());
    for (const [minute, { events }] of [...minutes]) {
      if (which === 'over' && minute >= current) continue;
      minutes.delete(minute);
      waiting -= events.size;
      const all = [...events.values()];
      for (let start = 0; start < all.length; start += BATCH_SIZE) {
        try {
          await write(all.slice(start, start + BATCH_SIZE));
        } catch (error) {
          // Kept for the next time, with what was noted meanwhile.
          for (const event of all.slice(start)) add(minute, event);
          throw error;
        }
      }
    }
  }

  return { flush, note: (event) => add(minuteOf(now()), event) };
}

/** Adds to an event that waits already. @returns whether there is one */
function count({ events }: Minute, key: string, { count: added }: NewAuditEvent): boolean {
  const known = events.get(key);
  if (known) known.count += added;
  return known !== undefined;
}

function minuteOf(time: Date): number {
  return Math.floor(time.getTime() / MINUTE_MS);
}

function keyOf({ place, actor, keyId, operation, outcome, reason, target }: NewAuditEvent): string {
  return JSON.stringify([
    ...[place?.tenantId, place?.subTenantId, actor.type, actor.tenantId, actor.id, keyId],
    ...[operation, outcome, reason, target?.type, target?.id],
  ]);
}

/** What stands for the events of one actor, where those of their tenant are too many to be told one by one. */
function overflowOfActor(event: NewAuditEvent, operation: string): NewAuditEvent {
  return { ...event, operation, target: null, reason: null };
}

/** What stands for all further events of a tenant. */
function overflowOfTenant(event: NewAuditEvent, operation: string): NewAuditEvent {
  const place: TenantPlace | null = event.place && { tenantId: event.place.tenantId, subTenantId: null };
  const { callerRequestId: _caller, ...rest } = overflowOfActor(event, operation);
  return { ...rest, place, ...actorOf('system'), requestId: '' };
}
