import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query';
import type { PagedList } from './pages.ts';
import { type ApiProblem, problemOf } from './problem.ts';

/**
 * Reads a record that an address names and that is not in the list beside it, because the view or the pages that were read have
 * others.
 *
 * @param query enabled only if the list does not have the record
 */
export function useLinkedRecord<One, Failure, Key extends QueryKey>(
  query: UseQueryOptions<One, Failure, One, Key>,
): { linked: One | undefined; problem: ApiProblem | null } {
  const { data, error } = useQuery({ ...query, retry: false });
  return { linked: data, problem: error === null ? null : problemOf(error) };
}

/** The record of a list that an address names. It is read alone if the list does not have it. */
export function useShownRecord<Listed extends { id: string }, One extends Listed, Failure, Key extends QueryKey>(
  list: Pick<PagedList<Listed>, 'items' | 'isLoading'>,
  id: string | undefined,
  query: UseQueryOptions<One, Failure, One, Key>,
): { shown: Listed | undefined; problem: ApiProblem | null } {
  const listed = list.items.find((one) => one.id === id);
  const enabled = id !== undefined && listed === undefined && !list.isLoading;
  const { linked, problem } = useLinkedRecord({ ...query, enabled });
  return { shown: listed ?? linked, problem };
}
