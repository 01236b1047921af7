import { listObservationDenials, type RuntimeObservation } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { plural, words } from '../../components/format.ts';
import { PrincipalName } from '../../components/principal.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Time } from '../../components/time.tsx';
import { problemOf } from '../../data/problem.ts';

/** To whom gateways denied it, the last denied first, and what approving it changes. */
export function Denials({ observation }: { observation: RuntimeObservation }): ReactNode {
  const path = { observation_id: observation.id };
  const { data, error } = useQuery({
    queryKey: ['observation-denials', observation.id, observation.denials],
    queryFn: async ({ signal }) =>
      (await listObservationDenials({ path, query: { limit: 20 }, signal, throwOnError: true })).data,
  });
  if (error !== null) return <p>{problemOf(error).message}</p>;
  if (data === undefined) return <p className="dim">Reading</p>;
  const { deniedReasons } = observation.evidence;
  const isMissing = observation.unknown && deniedReasons.includes('not_in_inventory');
  const lacksEntry = !observation.unknown && deniedReasons.includes('manifest');
  return (
    <>
      <ul>
        {data.items.map(({ account, gatewayId, denials, reason, lastSessionId, lastDeniedAt }) => (
          <li key={`${gatewayId} ${account}`}>
            <PrincipalName principal={account} />, {plural(denials, 'time')}, last <Time at={lastDeniedAt} />:{' '}
            {words(reason)} at{' '}
            <RowLink path={`/gateways/${gatewayId}`} search={{ view: 'all', item: lastSessionId ?? undefined }}>
              its gateway
            </RowLink>
          </li>
        ))}
      </ul>
      {isMissing && observation.status === 'open' && (
        <p className="dim">
          Approve it, then apply the change: it is in the inventory then, and the next call of each session goes through
          within 5 seconds.
        </p>
      )}
      {lacksEntry && observation.status === 'open' && (
        <p className="dim">
          It is in the inventory, but the manifest of a gateway does not allow it. Approve it, then apply the change:
          the gateway gets a new version of its manifest, with one entry more. A gateway whose version is not the newest
          one keeps it, so choose another version there.
        </p>
      )}
    </>
  );
}
