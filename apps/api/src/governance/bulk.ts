import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { type BulkResult, type BulkResults, MAX_BULK } from '@quartermaster/contracts/bulk-decisions.ts';
import type { Page, PageKey, PageRequest } from '@quartermaster/db/queries.ts';
import type { CallerContext } from '../auth/context.ts';
import { ApiError } from '../platform/errors.ts';

/** The number of records that cost one point of the rate limits. */
const RECORDS_PER_POINT = 10;

/** The maximum number of pages that are read to find the matches of a filter. Each page reads a bounded number of rows. */
const MAX_PAGES = 10;

/**
 * Returns the ids of the records of a bulk operation: the ids in the request, or those of all matches of its filter.
 *
 * @throws 409 if the number of ids, or without ids that of matches, differs from the expected one
 */
export async function bulkIds(
  named: readonly string[] | null | undefined,
  expected: number | null | undefined,
  list: (page: PageRequest) => Promise<Page<{ id: string }>>,
): Promise<string[]> {
  if (named != null) {
    const distinct = [...new Set(named)];
    if (expected != null && distinct.length !== expected) {
      throw countDiffers(`The request names ${distinct.length} records instead of ${expected}.`);
    }
    return distinct;
  }
  const ids: string[] = [];
  let after: PageKey | null = null;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { items, next }: Page<{ id: string }> = await list({ limit: MAX_BULK + 1 - ids.length, after });
    ids.push(...items.map(({ id }) => id));
    after = next;
    if (after === null || ids.length > MAX_BULK) break;
  }
  if (after === null && ids.length === expected) return ids;
  const count = after === null && ids.length <= MAX_BULK ? String(ids.length) : `more than ${ids.length - 1}`;
  throw countDiffers(`The filter matches ${count} records instead of ${expected}.`);
}

function countDiffers(why: string): ApiError {
  return new ApiError('bulk_count_differs', `${why} Nothing was changed.`);
}

/**
 * Decides about the records one by one, each in a separate transaction, and yields to the event loop in between. After a
 * failure it stops: earlier decisions stay, and the remaining records are reported as `failed`.
 *
 * @param decide decides about one record. Returns the reason if it skipped the record, otherwise null
 * @throws the error of the first record, because nothing was changed yet
 */
export async function decideEach(
  { services, charge }: CallerContext,
  ids: readonly string[],
  decide: (id: string) => Promise<BulkResult['reason']>,
): Promise<BulkResults> {
  const results: BulkResult[] = [];
  let hasFailed = false;
  for (const id of ids) {
    const reason = hasFailed
      ? 'failed'
      : await decide(id).catch((error: unknown) => {
          if (results.length === 0) throw error;
          // A refusal, such as at a limit of the tenant, is not a fault of the service.
          if (!(error instanceof ApiError)) {
            services.log.error({ err: error, id }, 'a bulk operation failed after some records');
          }
          hasFailed = true;
          return 'failed' as const;
        });
    results.push({ id, outcome: reason === null ? 'done' : 'skipped', reason });
    await yieldToEventLoop();
  }
  await charge(Math.floor(ids.length / RECORDS_PER_POINT));
  const done = results.filter(({ outcome }) => outcome === 'done').length;
  return { done, skipped: results.length - done, results };
}
