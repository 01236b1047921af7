import {
  countRuntimeObservations,
  groupRuntimeObservations,
  listRecommendations,
  listRuntimeObservations,
  type ObservationGroup,
  type Recommendation,
  type RuntimeObservation,
  type RuntimeObservationCounts,
} from '@quartermaster/client';
import {
  getRuntimeObservationOptions,
  getRuntimeObservationQueryKey,
} from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { type InfiniteData, type QueryClient, type QueryKey, queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useLinkedRecord } from '../../data/linked-record.ts';
import { meQuery } from '../../data/me.ts';
import { type ListOptions, type PagedList, prefetchPagedList, readAll, usePagedList } from '../../data/pages.ts';
import type { Page } from '../../data/page.ts';
import { usePrefetchedNext } from '../../data/prefetch.ts';
import type { ApiProblem } from '../../data/problem.ts';
import { whileSignedIn } from '../../data/session.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import type { UrlState } from '../../data/url-state.ts';
import { ANY_STATUS, firstPageIsRead, inboxQuery, type ObservationQuery, PAGE_SIZE } from './query.ts';

/** Up to 2,000 rows are read to be sorted, and drawing the screen for each page of them would take most of the time. */
const PAGES_AT_ONCE = 10;

/** Other people decide, too: the list is read again so often. */
export const REFRESH_MS = 30_000;

/** @param enabled whether they are shown. Otherwise they are not read */
export function useObservations(query: ObservationQuery, enabled: boolean): PagedList<RuntimeObservation> {
  return usePagedList({
    ...observationList(query),
    enabled,
    // Another filter of the same view: drawing the table again from nothing would cost most of the time of a typed character.
    keepsRowsOf: ([, former]) => {
      const { view, tenant_id } = former as ObservationQuery;
      return view === query.view && tenant_id === query.tenant_id;
    },
    refetchInterval: whileSignedIn(REFRESH_MS),
  });
}

/**
 * Reads the first rows of the inbox as soon as it is known who is signed in. Otherwise they would be asked for only after the
 * whole frame of the page was drawn.
 */
export async function prefetchInbox(client: QueryClient, state: UrlState): Promise<void> {
  const me = await client.ensureQueryData(meQuery());
  if (!firstPageIsRead(me, state)) return;
  await prefetchPagedList(client, observationList(inboxQuery(state)));
}

function observationList(query: ObservationQuery): ListOptions<RuntimeObservation> {
  return {
    key: ['observations', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
      return (await listRuntimeObservations({ query: page, signal, throwOnError: true })).data;
    },
    pagesAtOnce: PAGES_AT_ONCE,
  };
}

/** What the inbox can be grouped by. */
export type GroupBy = 'provider' | 'agent';

/** The groups of what a query lists, with the riskiest first. */
export function useObservationGroups(
  by: GroupBy,
  { sort: _sort, ...query }: ObservationQuery,
): PagedList<ObservationGroup> {
  return usePagedList({
    key: ['observation-groups', by, query],
    read: async (_cursor, signal) => {
      const { data } = await groupRuntimeObservations({ query: { ...query, by }, signal, throwOnError: true });
      return { items: data.items, nextCursor: null };
    },
    refetchInterval: whileSignedIn(REFRESH_MS),
  });
}

/** What a query lists, up to a number of observations. */
export async function readObservations(query: ObservationQuery, max: number): Promise<RuntimeObservation[]> {
  const { items } = await readAll(async (cursor) => {
    const page = { ...query, limit: Math.min(PAGE_SIZE, max), ...(cursor !== undefined && { cursor }) };
    return (await listRuntimeObservations({ query: page, throwOnError: true })).data;
  }, max);
  return items.slice(0, max);
}

type ListedPages = InfiniteData<Page<RuntimeObservation>, string | undefined>;

/**
 * Shows an observation as a decision left it, without reading the lists again: a list may have 20 pages. It leaves the lists that
 * it no longer belongs to. The counts and its recommendations are read again.
 */
export async function showObservation(client: QueryClient, observation: RuntimeObservation): Promise<void> {
  const { id } = observation;
  const alone = [getRuntimeObservationQueryKey({ path: { observation_id: id } }), observationKey(id)];
  // What is being read may have been answered before the decision, and would overwrite it.
  const interrupted = await cancelReads(client, [['observations'], ...alone]);
  for (const key of alone) client.setQueryData(key, observation);
  for (const [key] of client.getQueriesData<ListedPages>({ queryKey: ['observations'] })) {
    const shown = belongsTo(observation, key[1] as ObservationQuery) ? [observation] : [];
    client.setQueryData<ListedPages>(key, (list) => list && { ...list, pages: list.pages.map(replaceIn(id, shown)) });
  }
  for (const queryKey of interrupted) void client.invalidateQueries({ queryKey, exact: true });
  void client.invalidateQueries({ queryKey: ['observation-counts'] });
  void client.invalidateQueries({ queryKey: ['recommendations-of', id] });
}

/** Stops the reads under these keys that are under way. Returns what was being read. */
async function cancelReads(client: QueryClient, keys: readonly QueryKey[]): Promise<QueryKey[]> {
  const reads = keys.flatMap((queryKey) => client.getQueryCache().findAll({ queryKey, fetchStatus: 'fetching' }));
  await Promise.all(reads.map(({ queryKey }) => client.cancelQueries({ queryKey, exact: true })));
  return reads.map(({ queryKey }) => queryKey);
}

/** Whether a list that had an observation before still has it. */
function belongsTo(observation: RuntimeObservation, { view, status }: ObservationQuery): boolean {
  if (view != null && !ANY_STATUS.has(view) && observation.status !== 'open') return false;
  return status == null || status === observation.status;
}

function replaceIn(id: string, shown: RuntimeObservation[]) {
  return (page: Page<RuntimeObservation>): Page<RuntimeObservation> =>
    page.items.some((item) => item.id === id)
      ? { ...page, items: page.items.flatMap((item) => (item.id === id ? shown : [item])) }
      : page;
}

/** The key of one observation that is read by itself. */
export function observationKey(id: string): readonly unknown[] {
  return ['observation', id];
}

/** How many observations each view has. Undefined while they are not known. */
export function useInboxCounts({
  provider,
  agent,
  kind,
  name,
  q,
  environment,
  risk,
}: UrlState): RuntimeObservationCounts | undefined {
  const tenant = useTenantFilter();
  const query = {
    ...tenant,
    ...(provider !== undefined && { provider_id: provider }),
    ...(agent !== undefined && { agent }),
    ...(kind !== undefined && { kind: kind as RuntimeObservation['kind'] }),
    ...(name !== undefined && { name }),
    ...(q !== undefined && { text: q }),
    ...(environment !== undefined && { environment }),
    ...(risk !== undefined && { min_risk: risk as RuntimeObservation['risk']['level'] }),
  };
  const { data } = useQuery({
    queryKey: ['observation-counts', query] as const,
    queryFn: async ({ signal }) => (await countRuntimeObservations({ query, signal, throwOnError: true })).data,
    // The former counts of the same tenant, so that the views do not lose and regain a number for each typed character.
    placeholderData: (counts, former) => (former?.queryKey[1].tenant_id === query.tenant_id ? counts : undefined),
    refetchInterval: whileSignedIn(REFRESH_MS),
    retry: false,
  });
  return data;
}

/** An observation that an address names and that is not in the list, because the view or the page has others. */
export function useLinkedObservation(
  id: string | undefined,
  isInList: boolean,
): { linked: RuntimeObservation | undefined; problem: ApiProblem | null } {
  return useLinkedRecord({
    ...getRuntimeObservationOptions({ path: { observation_id: id ?? '' } }),
    enabled: id !== undefined && !isInList,
    refetchInterval: whileSignedIn(REFRESH_MS),
  });
}

/** More than can be open for one observation: each kind once. */
const MAX_RECOMMENDATIONS = 10;

const recommendationsQuery = (id: string) =>
  queryOptions({
    queryKey: ['recommendations-of', id],
    queryFn: ({ signal }) => readRecommendations(id, signal),
  });

/** The open recommendations that are based on an observation. */
export async function readRecommendations(id: string, signal?: AbortSignal): Promise<Recommendation[]> {
  const query = { observation_id: id, status: 'open' as const, limit: MAX_RECOMMENDATIONS };
  const { data } = await listRecommendations({ query, ...(signal && { signal }), throwOnError: true });
  return data.items;
}

/** The same for the panel of an observation. Undefined until they are read. */
export function useRecommendationsOf({ id }: RuntimeObservation): readonly Recommendation[] | undefined {
  return useQuery(recommendationsQuery(id)).data;
}

/** Reads the recommendations of the row that comes next. */
export function usePrefetchedRecommendations(id: string | undefined): void {
  usePrefetchedNext(useMemo(() => (id === undefined ? undefined : recommendationsQuery(id)), [id]));
}
