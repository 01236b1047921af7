import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiProblem } from './problem.ts';
import { sessionEnded } from './session.ts';

const STALE_MS = 15_000;
const MAX_RETRIES = 2;

/**
 * Whether the browser is online makes no difference: a server on this machine answers without a network. And a decision that
 * silently waits for the network could be carried out much later, to the surprise of the person who made it.
 */
export function createQueryClient(): QueryClient {
  const noteProblem = (error: unknown) => {
    if (error instanceof ApiProblem && error.status === 401) sessionEnded.set(true);
  };
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: noteProblem }),
    mutationCache: new MutationCache({
      onError: noteProblem,
      // One decision changes many lists, so everything that is shown is read again, unless the action has updated it.
      onSettled: (_data, error, _input, _context, { meta }) => {
        const isUpdated = error === null && meta?.['updatesCache'] === true;
        const readAgain = client.invalidateQueries(isUpdated ? { refetchType: 'none' } : {});
        // A failure is shown at once: if the server is away, the reads fail too, and are repeated.
        return error === null ? readAgain : undefined;
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: STALE_MS,
        retry: (failures, error) => failures < MAX_RETRIES && isTemporary(error),
        throwOnError: false,
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
  return client;
}

/** A refusal stays a refusal. Only failures of the server or the network are worth another attempt. */
function isTemporary(error: unknown): boolean {
  return error instanceof ApiProblem && (error.status === 0 || error.status === 429 || error.status >= 500);
}
