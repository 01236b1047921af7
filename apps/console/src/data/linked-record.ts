import { type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query';
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
