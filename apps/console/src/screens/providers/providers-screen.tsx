import { listProviders, type Provider } from '@quartermaster/client';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ActionButton } from '../../components/action-button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { SelectFilter, TextFilter } from '../../components/filters.tsx';
import { MeaningShape, StateMark, Tag } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { useSortedColumns } from '../../components/sorted-columns.ts';
import { Screen } from '../../components/screen.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useDistinct, usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ConnectLink } from '../connect/connect-link.tsx';
import { HealthNote } from './health-note.tsx';
import { ProviderForm } from './provider-form.tsx';

const KINDS = ['llm', 'mcp', 'agent_runtime', 'channel', 'other'];
const STATUSES = ['discovered', 'active', 'disabled', 'deleted'];

const keyOf = ({ id }: Provider) => id;

const COLUMNS: Column<Provider>[] = [
  {
    key: 'name',
    header: 'Provider',
    width: 'minmax(200px, 2fr)',
    cell: ({ id, name, displayName, status }) => (
      <span className="row">
        <MeaningShape meaning={status === 'discovered' ? 'unknown' : 'declared'} />
        <Link to="/providers/$providerId" params={{ providerId: id }} className="truncate">
          <strong>{displayName ?? name}</strong>
        </Link>
        {displayName !== null && displayName !== name && <span className="dim truncate">{name}</span>}
      </span>
    ),
  },
  { key: 'kind', header: 'Kind', width: '110px', cell: ({ kind }) => <Tag>{kind.replaceAll('_', ' ')}</Tag> },
  {
    key: 'status',
    header: 'Status',
    width: '110px',
    cell: ({ status }) => <StateMark state={status} tone={status === 'active' ? 'live' : 'quiet'} />,
  },
  {
    key: 'health',
    header: 'Health',
    width: 'minmax(150px, 2fr)',
    cell: (provider) => (
      <span className="row">
        <HealthNote {...provider} />
      </span>
    ),
  },
  {
    key: 'synced',
    header: 'Last sync',
    width: '110px',
    cell: ({ inventorySyncedAt }) => <Time at={inventorySyncedAt} />,
  },
  { key: 'tenant', isWideOnly: true, header: 'Tenant', width: 'minmax(120px, 1fr)', cell: placeOf },
  {
    key: 'address',
    isWideOnly: true,
    header: 'Address',
    width: 'minmax(160px, 2fr)',
    cell: ({ baseUrl }) => <span className="dim">{baseUrl ?? ''}</span>,
  },
];

const ORDERS = { name: 'name', kind: 'kind', status: 'status', health: 'health', synced: 'inventory_synced_at' };
const ASCENDING = new Set(['name', 'kind', 'status', 'health']);

type ProviderSort = NonNullable<NonNullable<NonNullable<Parameters<typeof listProviders>[0]>['query']>['sort']>;

export function ProvidersScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const filter = useTenantFilter();
  const columns = useSortedColumns(COLUMNS, ORDERS, ASCENDING);
  const query = {
    ...filter,
    ...(state['kind'] !== undefined && { kind: state['kind'] as Provider['kind'] }),
    ...(state['status'] !== undefined && { status: state['status'] as Provider['status'] }),
    ...(state['q'] !== undefined && { text: state['q'] }),
    ...(state['sort'] !== undefined && { sort: state['sort'] as ProviderSort }),
  };
  const list = usePagedList({
    key: ['providers', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listProviders({ query: page, signal, throwOnError: true })).data;
    },
  });
  const items = useDistinct(list.items, keyOf);
  const hasFilter = ['q', 'status', 'kind'].some((name) => state[name] !== undefined);
  return (
    <Screen
      title="Providers"
      summary="What agents call: model vendors, MCP servers, agent runtimes and channels."
      request={{ method: 'GET', path: '/v1/providers', query }}
      actions={
        <ActionButton scope="providers:write" onClick={() => setState({ new: '1' })}>
          Declare a provider
        </ActionButton>
      }
      toolbar={
        <>
          <TextFilter name="q" label="Search providers" />
          <SelectFilter name="status" label="Status" choices={STATUSES} />
          <SelectFilter name="kind" label="Kind" choices={KINDS} />
        </>
      }
    >
      <DataTable
        label="Providers"
        list={{ ...list, items }}
        columns={columns}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        onOpen={({ id }) => void navigate({ to: '/providers/$providerId', params: { providerId: id } })}
        empty={
          hasFilter ? (
            <Empty title="No provider matches">Clear the search or a filter to see more.</Empty>
          ) : (
            <Empty title="No provider">
              Declare what your agents may call. <ConnectLink />: what it uses already appears here as discovered.
            </Empty>
          )
        }
      />
      {state['new'] !== undefined && <ProviderForm close={() => setState({ new: undefined })} />}
    </Screen>
  );
}
