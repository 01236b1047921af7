import { listGatewaySessionGrants } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Tag } from '../../components/marks.tsx';
import { readAll } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';

const MAX_GRANTS = 1000;

/** What a session lets its subject use, by provider. */
export function Grants({ gatewayId, sessionId }: { gatewayId: string; sessionId: string }): ReactNode {
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
  return [...Map.groupBy(data.items, ({ providerName }) => providerName)].map(([provider, items]) => (
    <div key={provider}>
      <h4 className="qm-subtitle">{provider}</h4>
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
