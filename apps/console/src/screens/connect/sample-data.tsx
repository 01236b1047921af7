import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef } from 'react';
import { DangerButton } from '../../components/danger-button.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { useAction } from '../../components/use-action.ts';
import { ApiProblem } from '../../data/problem.ts';
import { askConsole, sessionEnded } from '../../data/session.ts';

/** As `apps/api/src/server/console/sample-data.ts` answers. */
type SampleData = { state: 'off' | 'absent' | 'loading' | 'present' | 'removing'; problem: string | null };

const QUERY_KEY = ['sample-data'];
const POLL_MS = 1000;

/** Loads the data of an invented company into tenants of its own, or removes it. Only in a development server. */
export function SampleDataOffer(): ReactNode {
  const client = useQueryClient();
  const { data } = useQuery({
    queryKey: QUERY_KEY,
    queryFn: ({ signal }) => ask('GET', signal),
    refetchInterval: ({ state }) => (isRunning(state.data) && !sessionEnded.get() ? POLL_MS : false),
  });
  const load = useChange('POST');
  const remove = useChange('DELETE');
  // Everything shown is read again when the program has ended.
  const wasRunning = useRef(false);
  const runs = isRunning(data);
  useEffect(() => {
    if (wasRunning.current && !runs) void client.invalidateQueries();
    wasRunning.current = runs;
  }, [client, runs]);
  if (data === undefined || data.state === 'off') return null;
  const { state, problem } = data;
  return (
    <div className="stack" role="group" aria-label="Sample data">
      {state === 'absent' && (
        <div className="row wraps">
          <Button variant="default" loading={load.isPending} onClick={() => load.mutate()}>
            Load sample data
          </Button>
          <span className="dim">
            An invented company with agents, in three tenants of its own. It can be removed again.
          </span>
        </div>
      )}
      {runs && (
        <p role="status">
          {state === 'loading'
            ? 'The sample data is being loaded. This takes up to a minute.'
            : 'The sample data is being removed.'}
        </p>
      )}
      {state === 'present' && (
        <div className="row wraps">
          <p>
            The sample data is loaded: <RowLink path="/inbox">decide in the inbox</RowLink>, or look at the{' '}
            <RowLink path="/map">map</RowLink>.
          </p>
          <DangerButton
            scope="tenants:write"
            title="Remove the sample data?"
            consequence="Its three tenants and their people are deleted, with all that belongs to them. It can be loaded again only into an empty database, because the id of a deleted tenant is never used again."
            confirm="Remove it"
            action={remove}
          >
            Remove sample data
          </DangerButton>
        </div>
      )}
      {problem !== null && !runs && (
        <p role="alert" className="danger">
          {problem}
        </p>
      )}
    </div>
  );
}

function useChange(method: 'POST' | 'DELETE') {
  return useAction({
    run: () => ask(method),
    done: () => null,
    updateCache: (cache, answer) => void cache.setQueryData(QUERY_KEY, answer),
  });
}

function isRunning(data: SampleData | undefined): boolean {
  return data?.state === 'loading' || data?.state === 'removing';
}

/** @throws {ApiProblem} */
async function ask(method: 'GET' | 'POST' | 'DELETE', signal?: AbortSignal): Promise<SampleData> {
  const { answer, body } = await askConsole('sample-data', { method, ...(signal !== undefined && { signal }) });
  if (!answer.ok) throw new ApiProblem(body, answer);
  return body as SampleData;
}
