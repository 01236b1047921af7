import { listTraces, type Trace } from '@quartermaster/client';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { SelectFilter, TextFilter } from '../../components/filters.tsx';
import { formatDuration, formatNumber } from '../../components/format.ts';
import { Screen } from '../../components/screen.tsx';
import { ConnectLink } from '../connect/connect-link.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { type PagedList, usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { useUrlState, useStartOfPeriod } from '../../data/url-state.ts';

const PERIODS = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
  { value: '720', label: 'Last 30 days' },
];

const DURATIONS = [
  { value: '100', label: '100 ms or more' },
  { value: '1000', label: '1 s or more' },
  { value: '10000', label: '10 s or more' },
  { value: '60000', label: '1 min or more' },
];

const keyOf = ({ traceId, tenantId, subTenantId }: Trace) => `${traceId}/${tenantId}/${subTenantId ?? ''}`;

const COLUMNS: Column<Trace>[] = [
  { key: 'start', header: 'Started', width: '96px', cell: ({ startTime }) => <Time at={startTime} /> },
  {
    key: 'name',
    header: 'Trace',
    width: 'minmax(180px, 2fr)',
    cell: ({ traceId, rootName }) => (
      <Link to="/traces/$traceId" params={{ traceId }}>
        <strong>{rootName ?? traceId}</strong>
      </Link>
    ),
  },
  {
    key: 'service',
    isWideOnly: true,
    header: 'Service',
    width: 'minmax(120px, 1fr)',
    cell: ({ serviceName }) => serviceName ?? '',
  },
  { key: 'agents', header: 'Agents', width: 'minmax(96px, 1fr)', cell: ({ agents }) => <Names names={agents} /> },
  { key: 'models', header: 'Models', width: 'minmax(96px, 1fr)', cell: ({ models }) => <Names names={models} /> },
  {
    key: 'tools',
    isWideOnly: true,
    header: 'Tools',
    width: 'minmax(110px, 1.2fr)',
    cell: ({ tools }) => <Names names={tools} />,
  },
  { key: 'spans', header: 'Spans', width: '58px', isNumber: true, cell: ({ spanCount }) => formatNumber(spanCount) },
  {
    key: 'errors',
    header: 'Errors',
    width: '58px',
    isNumber: true,
    cell: ({ errorCount }) =>
      errorCount === 0 ? <span className="dim">0</span> : <strong className="danger">{errorCount}</strong>,
  },
  {
    key: 'duration',
    header: 'Duration',
    width: '84px',
    isNumber: true,
    cell: ({ durationMs }) => formatDuration(durationMs),
  },
];

function Names({ names }: { names: readonly string[] }): ReactNode {
  return <span title={names.join(', ')}>{names.join(', ')}</span>;
}

export function TracesScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const { list, query } = useTraces();
  const hasFilter = Object.keys(query).some((name) => name !== 'tenant_id');
  return (
    <Screen
      title="Traces"
      summary="What agents did, from their OpenTelemetry traces. The latest received is first."
      request={{ method: 'GET', path: '/v1/traces', query }}
      toolbar={
        <>
          <SelectFilter name="hours" label="Any time" choices={PERIODS} width={130} />
          <TextFilter name="service" label="Service" width={130} />
          <TextFilter name="agent" label="Agent" width={130} />
          <TextFilter name="model" label="Model" width={130} />
          <TextFilter name="tool" label="Tool" width={130} />
          <SelectFilter name="min" label="Any duration" choices={DURATIONS} width={140} />
          <SelectFilter
            name="errors"
            label="Any outcome"
            choices={[{ value: '1', label: 'With errors' }]}
            width={130}
          />
        </>
      }
    >
      <DataTable
        label="Traces"
        list={list}
        columns={COLUMNS}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        onOpen={({ traceId }) => void navigate({ to: '/traces/$traceId', params: { traceId } })}
        empty={
          hasFilter ? (
            <Empty title="No trace matches these filters">
              Names match exactly, including case. Choose a longer period, or clear a filter.
            </Empty>
          ) : (
            <Empty title="No trace yet">
              <ConnectLink />: the traces that it sends appear here.
            </Empty>
          )
        }
      />
    </Screen>
  );
}

function useTraces(): { list: PagedList<Trace>; query: Record<string, string | number | boolean> } {
  const [{ hours, service, agent, model, tool, min, errors }] = useUrlState();
  const filter = useTenantFilter();
  const since = useStartOfPeriod(hours);
  const query = {
    ...filter,
    ...(since !== undefined && { created_after: since }),
    ...(service !== undefined && { service }),
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    ...(tool !== undefined && { tool }),
    ...(min !== undefined && { min_duration_ms: Number(min) }),
    ...(errors !== undefined && { errors_only: true }),
  };
  const list = usePagedList({
    key: ['traces', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listTraces({ query: page, signal, throwOnError: true })).data;
    },
  });
  return { list, query };
}
