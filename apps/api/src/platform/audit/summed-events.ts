import type { NewAuditEvent } from '@quartermaster/db/repositories/audit-events.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { inTransaction } from '@quartermaster/db/transaction.ts';
import { appendAuditEvents, type EventMacs } from './mac.ts';
import { actorOf } from './audited-write.ts';

/** Audit events that are counted in memory until their minute is over, so that noting one costs no write. */
export type SummedEvents = {
  /** Counts one event. Events that differ only in their request become one event with a count. */
  note(event: NewAuditEvent): void;
  /** Writes the events of minutes that are over, or of all minutes. */
  flush(which: 'over' | 'all'): Promise<void>;
};

export type SumOptions = {
  /** The operation of events that only count further events, after a tenant has reached its limit. */
  overflow: string;
  /** Called for each event that is dropped, because there is no room even to count it. */
  onDropped: () => void;
  /** Writes all events or none. Default: appends them to the audit. */
  write?: (events: readonly NewAuditEvent[]) => Promise<void>;
  limits?: Partial<SumLimits>;
};

type SumLimits = {
  /**
   * Distinct events of one tenant in one minute. Beyond this number, events are only counted per actor; beyond twice this
   * number, only per tenant.
   */
  perTenant: number;
  /** Distinct events of all tenants together, with the same steps. Beyond three times this number events are dropped. */
  waiting: number;
};

const LIMITS: SumLimits = { perTenant: 1000, waiting: 10_000 };
const MINUTE_MS = 60_000;

/** Events of one transaction, so that other writers get their turns in between. */
const BATCH_SIZE = 500;

type Minute = { events: Map<string, NewAuditEvent>; distinct: Map<string, number> };

export function summedEvents(
  { db, now, secrets }: { db: Database; now: () => Date; secrets: EventMacs },
  { overflow, onDropped, limits = {}, ...options }: SumOptions,
): SummedEvents {
  const max = { ...LIMITS, ...limits };
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
    // How many times over their limits the tenant and all tenants together are.
    const steps = [distinct / max.perTenant, waiting / max.waiting].map(Math.floor);
    const first = Math.max(...steps);
    for (const [step, form] of forms.entries()) {
      const key = keyOf(form);
      if (addToCount(kept, key, form)) return;
      if (step < first && step < forms.length - 1) continue;
      if (waiting >= forms.length * max.waiting) break;
      kept.events.set(key, { ...form });
      kept.distinct.set(tenantId, distinct + 1);
      waiting += 1;
      return;
    }
    onDropped();
  }

  async function flush(which: 'over' | 'all'): Promise<void> {
    const current = minuteOf(now());
    for (const [minute, { events }] of minutes) {
      if (which === 'over' && minute >= current) continue;
      minutes.delete(minute);
      waiting -= events.size;
      const all = [...events.values()];
      for (let start = 0; start < all.length; start += BATCH_SIZE) {
        try {
          await write(all.slice(start, start + BATCH_SIZE));
        } catch (error) {
          // Kept for the next flush, together with events that were noted in the meantime.
          for (const event of all.slice(start)) add(minute, event);
          throw error;
        }
      }
    }
  }

  return { flush, note: (event) => add(minuteOf(now()), event) };
}

/** Adds to the count of an event that already waits. @returns false if there is none */
function addToCount({ events }: Minute, key: string, { count: added }: NewAuditEvent): boolean {
  const known = events.get(key);
  if (known) known.count += added;
  return known !== undefined;
}

function minuteOf(time: Date): number {
  return Math.floor(time.getTime() / MINUTE_MS);
}

function keyOf({ place, actor, keyId, operation, outcome, reason, target }: NewAuditEvent): string {
  const { type, tenantId, id } = actor;
  const who = [place?.tenantId, place?.subTenantId, type, tenantId, id, keyId];
  return JSON.stringify([...who, operation, outcome, reason, target?.type, target?.id]);
}

/** The event that counts an actor's further events, once its tenant is beyond its limit. */
function overflowOfActor(event: NewAuditEvent, operation: string): NewAuditEvent {
  return { ...event, operation, target: null, reason: null };
}

/** The event that counts all further events of a tenant. */
function overflowOfTenant(event: NewAuditEvent, operation: string): NewAuditEvent {
  const place: TenantPlace | null = event.place && { tenantId: event.place.tenantId, subTenantId: null };
  const { callerRequestId: _caller, ...rest } = overflowOfActor(event, operation);
  return { ...rest, place, ...actorOf('system'), requestId: '' };
}
