import { type Gateway, listGateways } from '@quartermaster/client';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { SelectFilter } from '../../components/filters.tsx';
import { formatDuration } from '../../components/format.ts';
import { StateMark } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { Screen } from '../../components/screen.tsx';
import { Empty } from '../../components/states.tsx';
import { usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ConnectLink } from '../connect/connect-link.tsx';
import { GatewayForm } from './gateway-form.tsx';

const keyOf = ({ id }: Gateway) => id;

const COLUMNS: Column<Gateway>[] = [
  {
    key: 'name',
    header: 'Gateway',
    width: 'minmax(150px, 2fr)',
    cell: ({ id, name, displayName }) => (
      <Link to="/gateways/$gatewayId" params={{ gatewayId: id }}>
        <strong>{displayName ?? name}</strong>
      </Link>
    ),
  },
  {
    key: 'status',
    header: 'Status',
    width: '110px',
    cell: ({ status }) => <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />,
  },
  { key: 'place', header: 'Tenant', width: 'minmax(100px, 1fr)', cell: placeOf },
  {
    key: 'providers',
    header: 'Providers',
    width: '90px',
    isNumber: true,
    cell: ({ providerIds }) => providerIds.length,
  },
  {
    key: 'manifest',
    header: 'Limited by',
    width: '110px',
    cell: ({ manifestId }) =>
      manifestId === null ? (
        <span className="dim">no manifest</span>
      ) : (
        <Link to="/manifests/$manifestId" params={{ manifestId }}>
          a manifest
        </Link>
      ),
  },
  {
    key: 'ttl',
    header: 'Sessions last',
    width: '120px',
    cell: ({ sessionTtlSeconds }) => formatDuration(sessionTtlSeconds * 1000),
  },
  {
    key: 'url',
    header: 'Address',
    width: 'minmax(160px, 1.5fr)',
    isWideOnly: true,
    cell: ({ url }) => <span className="dim">{url}</span>,
  },
];

export function GatewaysScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const filter = useTenantFilter();
  const query = { ...filter, ...(state['status'] !== undefined && { status: state['status'] as Gateway['status'] }) };
  const list = usePagedList({
    key: ['gateways', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listGateways({ query: page, signal, throwOnError: true })).data;
    },
  });
  return (
    <Screen
      title="Gateways"
      summary="Where agents connect. A session of a gateway says what an agent may use."
      request={{ method: 'GET', path: '/v1/gateways', query }}
      actions={
        <ActionButton scope="gateways:write" onClick={() => setState({ new: '1' })}>
          Create a gateway
        </ActionButton>
      }
      toolbar={<SelectFilter name="status" label="Status" choices={['active', 'disabled', 'deleted']} />}
    >
      <DataTable
        label="Gateways"
        list={list}
        columns={COLUMNS}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        onOpen={({ id }) => void navigate({ to: '/gateways/$gatewayId', params: { gatewayId: id } })}
        empty={
          <Empty title="No gateway">
            Create one that lists the providers which agents may use through it. No agent yet? <ConnectLink />.
          </Empty>
        }
      />
      {state['new'] !== undefined && <GatewayForm close={() => setState({ new: undefined })} />}
    </Screen>
  );
}
