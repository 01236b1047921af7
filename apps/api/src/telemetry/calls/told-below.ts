import type { Database } from '@quartermaster/db/database.ts';
import { findTelemetryCalls } from '@quartermaster/db/repositories/telemetry-calls.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { type CallsBelow, keyOfCallBelow } from './call-keys.ts';

/*
 * Some log records of tool calls have no call id, and were written in the parent of the call's span. The first record of a
 * name tells of the first such span below the parent, the second record of the second span. Either may come first, and a
 * call that failed early has no span.
 */

/** Log records that are told apart below one span. Models ask for a few calls of one tool at once. */
export const MAX_TOLD_BELOW = 16;

/** Answers how many log records told of calls of one kind and name below a span, at most {@link MAX_TOLD_BELOW}. */
export async function toldBelow(
  db: Database,
  place: TenantPlace,
  { below, sender }: { below: readonly CallsBelow[]; sender: string },
): Promise<(below: CallsBelow) => number> {
  if (below.length === 0) return () => 0;
  const distinct = new Map(below.map((one) => [keyOfCallBelow(sender, one, 0), one]));
  const first = await findTelemetryCalls(db, place, [...distinct.keys()]);
  const told = [...first.keys()].flatMap((key) => distinct.get(key) ?? []);
  const later = told.flatMap((one) =>
    Array.from({ length: MAX_TOLD_BELOW - 1 }, (_, index) => keyOfCallBelow(sender, one, index + 1)),
  );
  const known = later.length === 0 ? first : new Map([...first, ...(await findTelemetryCalls(db, place, later))]);
  return (one) => {
    let count = 0;
    while (count < MAX_TOLD_BELOW && known.has(keyOfCallBelow(sender, one, count))) count += 1;
    return count;
  };
}
