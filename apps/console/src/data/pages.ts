import { type InfiniteData, type QueryClient, useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import type { ApiProblem } from './problem.ts';
import { problemOf } from './problem.ts';
import type { Page } from './page.ts';

export type PagedList<Item> = {
  items: Item[];
  isLoading: boolean;
  /** Whether the items are those of the former query, because the first page of this one is still loading. */
  isFormer: boolean;
  problem: ApiProblem | null;
  /** Whether there are more than the items. */
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  reload: () => void;
};

export type ListOptions<Item> = {
  /** What the list is of: the operation and everything it is filtered by. */
  key: readonly unknown[];
  /** Reads a page: the first one without a cursor. */
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>;
  /** How many pages are read at once after the first. Each time, the list is drawn again. */
  pagesAtOnce?: number;
  enabled?: boolean;
  /** Whether the rows of the query with this key stay in view while the first page of the new one loads. */
  keepsRowsOf?: (formerKey: readonly unknown[]) => boolean;
  refetchInterval?: () => number | false;
};

/** A longer list is not read again at intervals: that takes a request for each hundred items. */
const MAX_REFRESHED = 5000;

/** A list that is read page by page while the user scrolls. */
export function usePagedList<Item>(options: ListOptions<Item>): PagedList<Item> {
  const { key, read, pagesAtOnce, enabled = true, keepsRowsOf, refetchInterval } = options;
  const query = useInfiniteQuery({
    ...pagesQuery({ key, read, pagesAtOnce }),
    enabled,
    ...(keepsRowsOf !== undefined && {
      placeholderData: (
        rows: InfiniteData<Page<Item>, string | undefined> | undefined,
        former: { queryKey: readonly unknown[] } | undefined,
      ) => (former !== undefined && keepsRowsOf(former.queryKey) ? rows : undefined),
    }),
    ...(refetchInterval !== undefined && {
      refetchInterval: ({ state }: Loaded) =>
        countItems(state.data?.pages) > MAX_REFRESHED ? false : refetchInterval(),
    }),
  });
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return {
    items,
    isLoading: query.isLoading,
    isFormer: query.isPlaceholderData,
    problem: query.error === null ? null : problemOf(query.error),
    hasMore: hasNextPage,
    isLoadingMore: isFetchingNextPage,
    loadMore,
    reload: () => void refetch(),
  };
}

/** Each item once: one whose place in the order changes while the list is read may come again. */
export function useDistinct<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return useMemo(() => [...new Map(items.map((item) => [keyOf(item), item])).values()], [items, keyOf]);
}

/** Reads the first page of a list that will be shown. */
export async function prefetchPagedList<Item>(client: QueryClient, options: ListOptions<Item>): Promise<void> {
  await client.prefetchInfiniteQuery(pagesQuery(options));
}

function pagesQuery<Item>({ key, read, pagesAtOnce = 1 }: ListOptions<Item>) {
  return {
    queryKey: key,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      // The first page is drawn as soon as it is there.
      pageParam === undefined ? read(pageParam, signal) : readPages(read, { from: pageParam, pagesAtOnce, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page<Item>) => page.nextCursor ?? undefined,
  };
}

type Loaded = { state: { data: { pages: readonly Page<unknown>[] } | undefined } };

function countItems(pages: readonly Page<unknown>[] = []): number {
  return pages.reduce((sum, { items }) => sum + items.length, 0);
}

type ReadPagesOptions = { from: string; pagesAtOnce: number; signal: AbortSignal };

async function readPages<Item>(read: ListOptions<Item>['read'], options: ReadPagesOptions): Promise<Page<Item>> {
  const { from, pagesAtOnce, signal } = options;
  let page = await read(from, signal);
  for (let count = 1; count < pagesAtOnce && page.nextCursor !== null; count += 1) {
    const { items, nextCursor } = await read(page.nextCursor, signal);
    page = { items: [...page.items, ...items], nextCursor };
  }
  return page;
}

/** Reads all pages, up to a number of items. For pickers and names, which need the whole. */
export async function readAll<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
  max: number,
): Promise<{ items: Item[]; isComplete: boolean }> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    items.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined && items.length < max);
  return { items, isComplete: cursor === undefined };
}
