import { type GatewaySessionSummary, listGatewaySessionGrants } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { plural } from '../../components/format.ts';
import { Tag } from '../../components/marks.tsx';
import { Time } from '../../components/time.tsx';
import { readAll } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';

const MAX_GRANTS = 1000;

type Session = Pick<GatewaySessionSummary, 'id' | 'gatewayId' | 'status' | 'expiresAt'>;

/** What a session lets its subject use, by provider. It says which of them the provider's status has ended since. */
export function Grants({ session }: { session: Session }): ReactNode {
  const { id: sessionId, gatewayId, status, expiresAt } = session;
  const { data, error } = useQuery({
    queryKey: ['grants', gatewayId, sessionId],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const path = { gateway_id: gatewayId, session_id: sessionId };
        const query = { limit: 100, ...(cursor !== undefined && { cursor }) };
        return (await listGatewaySessionGrants({ path, query, signal, throwOnError: true })).data;
      }, MAX_GRANTS),
  });
  if (error !== null) return <p>{problemOf(error).message}</p>;
  if (data === undefined) return <p className="dim">Reading</p>;
  if (data.items.length === 0) return <p>Nothing.</p>;
  return [...Map.groupBy(data.items, ({ providerId }) => providerId)].map(([providerId, items]) => (
    <div key={providerId}>
      <h4 className="qm-subtitle">{items[0]?.providerName}</h4>
      {status === 'active' && items[0] !== undefined && items[0].providerStatus !== 'active' && (
        <p className="danger">
          Grants {plural(items.length, 'item')} of a {items[0].providerStatus} provider. Introspection leaves them out.
          A gateway that verifies offline allows them until the session expires, <Time at={expiresAt} />.
        </p>
      )}
      <ul>
        {items.map(({ kind, name }) => (
          <li key={`${kind} ${name}`} className="row">
            <span className="truncate">{name}</span> <Tag>{kind}</Tag>
          </li>
        ))}
      </ul>
    </div>
  ));
}
