import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Span } from '@quartermaster/contracts/traces.ts';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { type Page, type PageKey, type PageRequest, placeOf, within } from '../queries.ts';
import { SpanIndex } from '../span-index.ts';
import { storedJson } from '../stored-json.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { partsOfTrace } from './known-spans.ts';
import { FirstSpans } from './span-order.ts';
import { readSpanTexts, type SpanPlace } from './span-texts.ts';

/** Places whose spans are sorted together. A trace in more of them is answered in groups of places. */
const MAX_PLACES_READ = 50;

/** How often a page is read anew, because blocks went away while it was read. */
const ATTEMPTS = 3;

/** Spans for an answer, see `storedJson`, and the places that they are in. */
type SpanPage = Page<Span> & { places: TenantPlace[] };

/**
 * The spans of a trace by start time, or undefined where nothing in the scope has the trace. It reads the trace's index, and
 * the blocks that the page needs. A page may end early, see {@link readSpanTexts}.
 */
export async function listSpans(
  db: Database,
  scope: TenantScope,
  traceId: string,
  page: PageRequest,
): Promise<SpanPage | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const found = await readPage(db, scope, traceId, page);
    if (found !== 'changed') return found;
  }
  throw new Error('the blocks of a trace are missing');
}

/** `changed`: retention removed a block, or its row moved to another partition, after the index was read. */
async function readPage(
  db: Database,
  scope: TenantScope,
  traceId: string,
  page: PageRequest,
): Promise<SpanPage | undefined | 'changed'> {
  const { group, after } = cursorOf(page.after);
  const places = await listPlaces(db, scope, traceId, group);
  const first = places[0];
  if (!first) return group === null ? undefined : { items: [], next: null, places: [] };
  const shown = places.slice(0, MAX_PLACES_READ);
  const found = await findSpans(db, shown, { after, rows: page.limit + 1 });
  const texts = await readSpanTexts(db, found.slice(0, page.limit));
  if (texts === null) return 'changed';
  const last = found[texts.length - 1];
  const nextGroup = places[MAX_PLACES_READ];
  let next: PageKey | null = null;
  if (texts.length < found.length && last) next = keyOf(first, last.sortKey);
  else if (nextGroup) next = keyOf(nextGroup, ['', '']);
  return {
    items: texts.map((text) => storedJson(text) as Span),
    next,
    places: [...new Set(found.slice(0, texts.length).map(({ place }) => place))].map(placeOf),
  };
}

/** The places that have the trace: those of a group, and one more where there are more. */
async function listPlaces(
  db: Database,
  scope: TenantScope,
  traceId: string,
  group: PageKey | null,
): Promise<SpanPlace[]> {
  let query = db
    .selectFrom('traces')
    .select(['tenant_id', 'sub_tenant_id', 'trace_id'])
    .where('trace_id', '=', traceId)
    .where(within(scope));
  if (group) query = query.where(sql<boolean>`(tenant_id, sub_tenant_id) >= (${group[0]}, ${group[1]})`);
  return query
    .orderBy('tenant_id')
    .orderBy('sub_tenant_id')
    .limit(MAX_PLACES_READ + 1)
    .execute();
}

async function findSpans(
  db: Database,
  places: readonly SpanPlace[],
  { after, rows }: { after: PageKey | null; rows: number },
) {
  const first = new FirstSpans({ after, count: rows });
  for (const place of places) {
    const parts = await partsOfTrace(db, place).select('spans').execute();
    first.add(
      place,
      parts.map(({ spans }) => new SpanIndex(spans)),
    );
    await yieldToEventLoop();
  }
  return first.spans();
}

/** A cursor names the first place of its group, and the last span that was answered. */
function keyOf(group: SpanPlace, [time, id]: PageKey): PageKey {
  return [time, `${group.tenant_id}\n${group.sub_tenant_id}\n${id}`];
}

function cursorOf(key: PageKey | null): { group: PageKey | null; after: PageKey | null } {
  if (key === null) return { group: null, after: null };
  const [tenantId = '', subTenantId = '', id = ''] = key[1].split('\n');
  return { group: [tenantId, subTenantId], after: key[0] === '' ? null : [key[0], id] };
}
