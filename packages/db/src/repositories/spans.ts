import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Span } from '@quartermaster/contracts/traces.ts';
import { type Expression, type SqlBool, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isPostgres } from '../dialects/postgres.ts';
import { inScope, type Page, type PageKey, type PageRequest, placeOf } from '../queries.ts';
import { SpanIndex } from '../span-index.ts';
import { preparedStatement } from '../prepared-statement.ts';
import { storedJson } from '../stored-json.ts';
import type { TenantPlace, TenantScope } from '../tenancy.ts';
import { partsOfTrace } from './known-spans.ts';
import { FirstSpans } from './span-order.ts';
import { readSpanTexts, type SpanPlace } from './span-texts.ts';

/** The most places whose spans are sorted together. A trace in more places is answered in groups of places. */
const PLACES_PER_GROUP = 50;

/** How often a page is read again because blocks disappeared while it was read. */
const ATTEMPTS = 3;

/** A place of the trace, with the index in the trace's row. */
type PlaceRow = SpanPlace & { first_spans: Buffer | null };

/** Spans for an answer, as `storedJson`, and their places. */
type SpanPage = Page<Span> & { places: TenantPlace[] };

type SpanPageRequest = PageRequest & {
  /** Only spans with this id. */
  spanId?: string | null | undefined;
};

/**
 * The spans of a trace by start time. Undefined if no place in the scope has the trace. It reads the index of the trace, and the
 * blocks that the page needs. A page may end early, see {@link readSpanTexts}.
 */
export async function listSpans(
  db: Database,
  scope: TenantScope,
  traceId: string,
  page: SpanPageRequest,
): Promise<SpanPage | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const found = await readPage(db, scope, traceId, page);
    if (found !== 'changed') return found;
  }
  throw new Error('the blocks of a trace are missing');
}

/** `changed`: after the index was read, retention removed a block, or its row moved to another partition. */
async function readPage(
  db: Database,
  scope: TenantScope,
  traceId: string,
  { spanId = null, ...page }: SpanPageRequest,
): Promise<SpanPage | undefined | 'changed'> {
  const { group, after } = cursorOf(page.after);
  const places = await listPlaces(db, scope, traceId, group);
  const first = places[0];
  if (!first) return group === null ? undefined : { items: [], next: null, places: [] };
  const shown = places.slice(0, PLACES_PER_GROUP);
  const found = await findSpans(db, shown, { spanId, after, rows: page.limit + 1 });
  const texts = await readSpanTexts(db, found.slice(0, page.limit), { hasNextPage: found.length > page.limit });
  if (texts === null) return 'changed';
  const last = found[texts.length - 1];
  const nextGroup = places[PLACES_PER_GROUP];
  let next: PageKey | null = null;
  if (texts.length < found.length && last) next = keyOf(first, last.sortKey);
  else if (nextGroup) next = keyOf(nextGroup, ['', '']);
  return {
    items: texts.map((text) => storedJson(text) as Span),
    next,
    places: [...new Set(found.slice(0, texts.length).map(({ place }) => place))].map(placeOf),
  };
}

/** The places of the trace from the start of a group: one group, and one more place if there are more. */
async function listPlaces(
  db: Database,
  scope: TenantScope,
  traceId: string,
  group: PageKey | null,
): Promise<PlaceRow[]> {
  const list = isPostgres(db) ? listPlacesByIndex : listPlacesOneByOne;
  return list(db, { scope, traceId, group, rows: PLACES_PER_GROUP + 1 });
}

type PlacesWanted = { scope: TenantScope; traceId: string; group: PageKey | null; rows: number };

/** Postgres has an index of traces by id. */
const listPlacesByIndex = preparedStatement((db, { scope, traceId, group, rows }: PlacesWanted) =>
  db
    .selectFrom('traces')
    .select(['tenant_id', 'sub_tenant_id', 'trace_id', 'first_spans'])
    .where('trace_id', '=', traceId)
    .where(inScope(scope))
    .where(sinceGroup(group))
    .orderBy('tenant_id')
    .orderBy('sub_tenant_id')
    .limit(rows),
);

/**
 * SQLite looks up each place of the scope by the primary key of traces. An index by id would be a third of the pages that storing
 * a batch of traces writes.
 */
async function listPlacesOneByOne(db: Database, { scope, traceId, group, rows }: PlacesWanted): Promise<PlaceRow[]> {
  const places = sql<PlaceRow>`(
    select traces.tenant_id, traces.sub_tenant_id, traces.trace_id, traces.first_spans
    from (
      select id as tenant_id, '' as sub_tenant_id from tenants
      union all select tenant_id, id as sub_tenant_id from sub_tenants
    ) as place
    cross join traces on traces.tenant_id = place.tenant_id and traces.sub_tenant_id = place.sub_tenant_id
      and traces.trace_id = ${traceId}
    where ${inScope(scope, 'place')} and ${sinceGroup(group, 'place.')}
    order by traces.tenant_id, traces.sub_tenant_id limit ${rows})`;
  // A select of the query builder uses the reading connection.
  return db.selectFrom(places.as('places')).selectAll().orderBy('tenant_id').orderBy('sub_tenant_id').execute();
}

function sinceGroup(group: PageKey | null, prefix = ''): Expression<SqlBool> {
  if (group === null) return sql<SqlBool>`1 = 1`;
  const columns = sql`${sql.ref(`${prefix}tenant_id`)}, ${sql.ref(`${prefix}sub_tenant_id`)}`;
  return sql<SqlBool>`(${columns}) >= (${group[0]}, ${group[1]})`;
}

async function findSpans(
  db: Database,
  places: readonly PlaceRow[],
  { spanId, after, rows }: { spanId: string | null; after: PageKey | null; rows: number },
) {
  const first = new FirstSpans({ spanId, after, count: rows });
  for (const place of places) {
    const parts = await partsOfTrace(db, place).select('spans').execute();
    const indexes = [...(place.first_spans === null ? [] : [place.first_spans]), ...parts.map(({ spans }) => spans)];
    first.add(
      place,
      indexes.map((bytes) => new SpanIndex(bytes)),
    );
    await yieldToEventLoop();
  }
  return first.spans();
}

/** A page key contains the first place of its group, and the last span of the page. */
function keyOf(group: SpanPlace, [time, id]: PageKey): PageKey {
  return [time, `${group.tenant_id}\n${group.sub_tenant_id}\n${id}`];
}

function cursorOf(key: PageKey | null): { group: PageKey | null; after: PageKey | null } {
  if (key === null) return { group: null, after: null };
  const [tenantId = '', subTenantId = '', id = ''] = key[1].split('\n');
  return { group: [tenantId, subTenantId], after: key[0] === '' ? null : [key[0], id] };
}
