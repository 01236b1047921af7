import {
  deleteGateway,
  type Gateway,
  type GatewaySessionSummary,
  listGatewaySessions,
  revokeGatewaySession,
} from '@quartermaster/client';
import { getGatewayOptions, getGatewaySessionOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyId } from '../../components/copy.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Views } from '../../components/filters.tsx';
import { formatNumber, words } from '../../components/format.ts';
import { StateMark } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { Screen } from '../../components/screen.tsx';
import { Facts, Section, SidePanel } from '../../components/side-panel.tsx';
import { SplitList } from '../../components/split-list.tsx';
import { Empty, Failed, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { idempotencyKey, ifMatch } from '../../data/client.ts';
import { useShownRecord } from '../../data/linked-record.ts';
import { providerLabel, useProviders } from '../../data/names.ts';
import { usePagedList } from '../../data/pages.ts';
import { problemOf } from '../../data/problem.ts';
import { useUrlState } from '../../data/url-state.ts';
import { apiPath } from '../../data/curl.ts';
import { GatewayForm } from './gateway-form.tsx';
import { ConnectClients } from './connect-clients.tsx';
import { DeniedUses } from './denied-uses.tsx';
import { SwitchEnforcement } from './enforcement.tsx';
import { Grants } from './grants.tsx';
import { RevokeAll } from './revoke-all.tsx';

const COLUMNS: Column<GatewaySessionSummary>[] = [
  {
    key: 'status',
    header: 'Status',
    width: '100px',
    cell: ({ status }) => <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />,
  },
  {
    key: 'subject',
    header: 'For',
    width: 'minmax(160px, 1.4fr)',
    cell: ({ subject }) => <PrincipalName principal={subject} />,
  },
  {
    key: 'actor',
    header: 'Opened by',
    isWideOnly: true,
    width: 'minmax(140px, 1fr)',
    cell: ({ actor }) => (actor === null ? <span className="dim">itself</span> : <PrincipalName principal={actor} />),
  },
  {
    key: 'grants',
    header: 'Grants',
    width: '70px',
    isNumber: true,
    cell: ({ grantedItems }) => formatNumber(grantedItems),
  },
  {
    key: 'decisions',
    header: 'Decisions',
    isWideOnly: true,
    width: '84px',
    isNumber: true,
    cell: ({ decisions }) => formatNumber(decisions.allowed + decisions.denied),
  },
  {
    key: 'denied',
    header: 'Denied',
    width: '70px',
    isNumber: true,
    cell: ({ decisions }) => formatNumber(decisions.denied),
  },
  { key: 'issued', isWideOnly: true, header: 'Issued', width: '110px', cell: ({ issuedAt }) => <Time at={issuedAt} /> },
  { key: 'expires', header: 'Expires', width: '110px', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
  {
    key: 'reason',
    header: 'Ended because',
    isWideOnly: true,
    width: '130px',
    cell: ({ revokedReason }) => (revokedReason === null ? '' : words(revokedReason)),
  },
];

export function GatewayScreen(): ReactNode {
  const { gatewayId } = useParams({ from: '/gateways/$gatewayId' });
  const { data, error, refetch } = useQuery(getGatewayOptions({ path: { gateway_id: gatewayId } }));
  if (data === undefined) {
    return (
      <Screen title="Gateway" above={<Link to="/gateways">Gateways</Link>}>
        {error === null ? <Loading /> : <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      </Screen>
    );
  }
  return <Loaded key={data.id} gateway={data} />;
}

function Loaded({ gateway }: { gateway: Gateway }): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const { id, name, displayName } = gateway;
  const { view } = state;
  const remove = useAction({
    run: () =>
      deleteGateway({
        path: { gateway_id: id },
        headers: { ...idempotencyKey(), ...ifMatch(`/v1/gateways/${id}`) },
        throwOnError: true,
      }),
    done: () => `${name} was deleted.`,
    onDone: () => navigate({ to: '/gateways', replace: true }),
  });
  return (
    <Screen
      title={displayName ?? name}
      above={<Link to="/gateways">Gateways</Link>}
      summary={<Summary gateway={gateway} />}
      request={{ method: 'GET', path: apiPath`/v1/gateways/${id}/sessions` }}
      actions={
        <>
          <DangerButton
            scope="gateways:write"
            place={gateway}
            title={`Delete ${displayName ?? name}?`}
            consequence="Its sessions end at once, and no new ones open. The record stays."
            confirm="Delete the gateway"
            action={remove}
          >
            Delete
          </DangerButton>
          <RevokeAll gateway={gateway} />
          <SwitchEnforcement gateway={gateway} />
          <ActionButton scope="gateways:write" place={gateway} onClick={() => setState({ edit: '1' })}>
            Change
          </ActionButton>
        </>
      }
      toolbar={
        <Views
          label="View"
          views={[
            { value: 'active', label: 'Active sessions' },
            { value: 'revoked', label: 'Revoked' },
            { value: 'expired', label: 'Expired' },
            { value: 'all', label: 'All' },
            { value: 'denied', label: 'Denied' },
            { value: 'connect', label: 'Connect' },
          ]}
        />
      }
    >
      {view === 'denied' ? (
        <DeniedUses gatewayId={id} />
      ) : view === 'connect' ? (
        <ConnectClients gateway={gateway} />
      ) : (
        <Sessions gatewayId={id} />
      )}
      {state['edit'] !== undefined && <GatewayForm gateway={gateway} close={() => setState({ edit: undefined })} />}
    </Screen>
  );
}

function Summary({ gateway }: { gateway: Gateway }): ReactNode {
  const { byId } = useProviders();
  const { id, status, providerIds, manifestId, enforcement } = gateway;
  return (
    <div className="row">
      <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />
      <StateMark
        state={enforcement === 'enforce' ? 'enforces' : 'only observes'}
        tone={enforcement === 'enforce' ? 'live' : 'quiet'}
      />
      {placeOf(gateway)}
      <CopyId id={id} />
      <span className="truncate">
        lists {providerIds.map((each) => providerLabel(byId.get(each), each)).join(' · ') || 'no provider'}
      </span>
      {manifestId !== null && (
        <Link to="/manifests/$manifestId" params={{ manifestId }}>
          its manifest
        </Link>
      )}
    </div>
  );
}

function Sessions({ gatewayId }: { gatewayId: string }): ReactNode {
  const [{ view = 'active', item }] = useUrlState();
  const list = usePagedList({
    key: ['sessions', gatewayId, view],
    read: async (cursor, signal) => {
      const page = { limit: 100, ...(cursor !== undefined && { cursor }) };
      const query = { ...page, ...(view !== 'all' && { status: view as GatewaySessionSummary['status'] }) };
      return (await listGatewaySessions({ path: { gateway_id: gatewayId }, query, signal, throwOnError: true })).data;
    },
  });
  const path = { gateway_id: gatewayId, session_id: item ?? '' };
  const { shown, problem } = useShownRecord(list, item, getGatewaySessionOptions({ path }));
  return (
    <SplitList
      label="Sessions"
      list={list}
      columns={COLUMNS}
      empty={<Empty title="No such session">Agents open sessions with a key. The view Connect has the lines.</Empty>}
      shown={shown}
      problem={problem}
      panelLabel="Session"
      renderPanel={(session, close) => <SessionPanel key={session.id} session={session} close={close} />}
    />
  );
}

type SessionPanelProps = { session: Omit<GatewaySessionSummary, 'grantedItems'>; close: () => void };

function SessionPanel({ session, close }: SessionPanelProps): ReactNode {
  const path = { gateway_id: session.gatewayId, session_id: session.id };
  const revoke = useAction({
    run: () => revokeGatewaySession({ path, headers: idempotencyKey(), throwOnError: true }),
    done: () => 'The session is revoked.',
  });
  return (
    <SidePanel
      label="Session"
      close={close}
      heading={
        <>
          <h2>
            <PrincipalName principal={session.subject} />
          </h2>
          <StateMark state={session.status} tone={session.status === 'active' ? 'live' : 'quiet'} />
        </>
      }
      footer={
        <DangerButton
          scope="gateway_sessions:write"
          place={session}
          disabledReason={session.status === 'active' ? null : 'It has ended already.'}
          title="Revoke this session?"
          consequence="Gateways that introspect its token refuse it from now on. Others accept it until it expires."
          confirm="Revoke the session"
          action={revoke}
        >
          Revoke the session
        </DangerButton>
      }
    >
      <Section title="Session">
        <Facts
          facts={[
            ['Issued', <Time key="issued" at={session.issuedAt} />],
            ['Expires', <Time key="expires" at={session.expiresAt} />],
            ['Revoked', session.revokedAt === null ? null : <Time key="revoked" at={session.revokedAt} />],
            ['Ended because', session.revokedReason === null ? null : words(session.revokedReason)],
            ['Decisions', formatNumber(session.decisions.allowed + session.decisions.denied)],
            ['Denied of these', formatNumber(session.decisions.denied)],
            ['Id', <CopyId key="id" id={session.id} />],
          ]}
        />
      </Section>
      <Section title="What it grants">
        <Grants session={session} />
      </Section>
    </SidePanel>
  );
}
