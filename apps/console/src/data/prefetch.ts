import { type FetchQueryOptions, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';

/** How long the user stays on a row before the data of the next one are read, in milliseconds. */
const NEXT_DELAY_MS = 100;

/**
 * Reads what the panel of the next row will show, so that moving there draws the panel once, and not first without its data.
 *
 * @param query the same object until another row is the next one; undefined: there is none
 */
export function usePrefetchedNext<Data, Key extends QueryKey>(
  query: FetchQueryOptions<Data, Error, Data, Key> | undefined,
): void {
  const client = useQueryClient();
  useEffect(() => {
    if (query === undefined) return;
    const timer = setTimeout(() => void client.prefetchQuery(query), NEXT_DELAY_MS);
    return () => clearTimeout(timer);
  }, [client, query]);
}
