import { listTelemetryHealth, listUsage } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { StateMark } from '../../components/marks.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Failed, MissingScope } from '../../components/states.tsx';
import { useMe } from '../../data/me.ts';
import { holdsWithin } from '../../data/rights.ts';
import { problemOf } from '../../data/problem.ts';
import { whileSignedIn } from '../../data/session.ts';
import { Health, stateOf } from '../accounts/health.tsx';
import classes from './connect.module.css';

/** How often the page asks whether something has arrived, in milliseconds. */
const POLL_MS = 2000;

type Props = { account: string; tenantId: string; keyId: string | undefined };

/** What arrives with a key, from the first wait to what was understood, or why nothing was. */
export function Listening({ account, tenantId, keyId }: Props): ReactNode {
  const mayRead = holdsWithin(useMe(), 'credentials:read', tenantId);
  const query = { tenant_id: tenantId, service_account_id: account, ...(keyId !== undefined && { key_id: keyId }) };
  const { data, error } = useQuery({
    queryKey: ['telemetry-arriving', query],
    queryFn: async ({ signal }) => (await listTelemetryHealth({ query, signal, throwOnError: true })).data,
    refetchInterval: whileSignedIn(POLL_MS),
    enabled: mayRead,
  });
  if (!mayRead) return <MissingScope scope="credentials:read" />;
  if (error !== null && data === undefined) return <Failed problem={problemOf(error)} />;
  const keys = data?.items[0]?.keys ?? [];
  return (
    <div role="status" aria-label="What arrives" className="stack">
      {keys.length === 0 ? <Waiting /> : keys.map((key) => <Health key={key.keyId} health={key} {...stateOf(key)} />)}
      {keys.some(({ understood }) => understood > 0) && <Understood account={account} tenantId={tenantId} />}
    </div>
  );
}

function Waiting(): ReactNode {
  return (
    <>
      <StateMark state="Waiting for the first span" tone="live" />
      <p className="dim">
        Run the agent once. If nothing arrives: an exporter that logs 401 sends a wrong key, and one that logs a refused
        connection sends to another address or port. A batch may wait five seconds before it is sent. A program that
        ends sooner, such as a script, must shut down the OpenTelemetry SDK at its end, or its spans are lost: in
        Node.js <code>await sdk.shutdown()</code> of the <code>NodeSDK</code>.
      </p>
    </>
  );
}

/** The models, tools and agents that were found. */
function Understood({ account, tenantId }: { account: string; tenantId: string }): ReactNode {
  const mayRead = holdsWithin(useMe(), 'usage:read', tenantId);
  const { data } = useQuery({
    queryKey: ['telemetry-understood', tenantId, account],
    queryFn: async ({ signal }) => {
      const query = {
        tenant_id: tenantId,
        account: `service_account:${tenantId}/${account}`,
        group_by: ['kind' as const, 'name' as const, 'agent' as const],
        limit: 20,
      };
      return (await listUsage({ query, signal, throwOnError: true })).data;
    },
    refetchInterval: whileSignedIn(POLL_MS),
    enabled: mayRead,
  });
  return (
    <>
      <ul className={classes.found} aria-label="What was understood">
        {data?.items.map(({ kind, name, agent, calls }) => (
          <li key={`${kind} ${name} ${agent}`}>
            <span className="dim">{kind}</span>
            <strong>{name}</strong>
            <span className="dim">
              {calls} × by {agent ?? 'an agent without a name'}
            </span>
          </li>
        ))}
      </ul>
      <p>
        <RowLink path="/inbox">Decide about it in the inbox</RowLink>, or look at the{' '}
        <RowLink path="/traces">traces</RowLink>.
      </p>
    </>
  );
}
