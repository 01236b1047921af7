import type { Database } from '@quartermaster/db/database.ts';
import { findTelemetryCalls, type TelemetryCall } from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type CallsBelow, keyOfCallBelow } from './call-keys.ts';

/*
 * Some log records of tool calls have no call id, and were written in the parent of the call's span. The first such record of
 * a name belongs to the first span of that name below the parent, the second record to the second span, and so on. Records
 * may come before or after their spans, and a call that failed early has no span.
 */

/** The maximum number of records below one span that count separately. Models request few calls of one tool at once. */
export const MAX_RECORDS_BELOW = 16;

/**
 * Finds the log records that reported calls of one kind and name below a span, up to {@link MAX_RECORDS_BELOW}.
 *
 * @returns a look-up function, whose records are in their order
 */
export async function findRecordsBelow(
  db: Database,
  place: TenantPlace,
  { below, sender }: { below: readonly CallsBelow[]; sender: string },
): Promise<(below: CallsBelow) => readonly TelemetryCall[]> {
  if (below.length === 0) return () => [];
  const distinct = new Map(below.map((one) => [keyOfCallBelow(sender, one, 0), one]));
  const first = await findTelemetryCalls(db, place, [...distinct.keys()]);
  const reported = [...first.keys()].flatMap((key) => distinct.get(key) ?? []);
  const later = reported.flatMap((one) =>
    Array.from({ length: MAX_RECORDS_BELOW - 1 }, (_, index) => keyOfCallBelow(sender, one, index + 1)),
  );
  const known = later.length === 0 ? first : new Map([...first, ...(await findTelemetryCalls(db, place, later))]);
  return (one) => {
    const records: TelemetryCall[] = [];
    for (let position = 0; position < MAX_RECORDS_BELOW; position += 1) {
      const record = known.get(keyOfCallBelow(sender, one, position));
      if (record === undefined) break;
      records.push(record);
    }
    return records;
  };
}
