import { listTraces, type Trace } from '@quartermaster/client';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { SelectFilter, TextFilter } from '../../components/filters.tsx';
import { formatDuration, formatNumber } from '../../components/format.ts';
import { RangeFilter } from '../../components/range-filter.tsx';
import { Screen } from '../../components/screen.tsx';
import { ConnectLink } from '../connect/connect-link.tsx';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { type PagedList, useDistinct, usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { MINUTE_MS, PERIODS, useTimeRange } from '../../data/time-range.ts';
import { useUrlState } from '../../data/url-state.ts';

const DURATIONS = [
  { value: '100', label: '100 ms or more' },
  { value: '1000', label: '1 s or more' },
  { value: '10000', label: '10 s or more' },
  { value: '60000', label: '1 min or more' },
];

const FAILED_KINDS = [
  { value: 'model', label: 'A model call failed' },
  { value: 'tool', label: 'A tool call failed' },
  { value: 'agent', label: 'An agent failed' },
] as const;

const keyOf = ({ traceId, tenantId, subTenantId }: Trace) => `${traceId}/${tenantId}/${subTenantId ?? ''}`;

const COLUMNS: Column<Trace>[] = [
  { key: 'start', header: 'Started', width: '96px', cell: ({ startTime }) => <Time at={startTime} /> },
  {
    key: 'received',
    isWideOnly: true,
    header: 'Received',
    width: '92px',
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
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
    cell: ({ errorCount, failures }) =>
      errorCount === 0 ? (
        <span className="dim">0</span>
      ) : (
        <strong className="danger" title={failures.map(failureText).join(', ')}>
          {errorCount}
        </strong>
      ),
  },
  {
    key: 'failures',
    isWideOnly: true,
    header: 'Failed calls',
    width: 'minmax(110px, 1.2fr)',
    cell: ({ failures }) => <Names names={failures.map(failureText)} />,
  },
  {
    key: 'duration',
    header: 'Duration',
    width: '84px',
    isNumber: true,
    cell: ({ durationMs }) => formatDuration(durationMs),
  },
];

/** `search: TimeoutError`. */
function failureText({ name, errorType }: Trace['failures'][number]): string {
  return errorType === null ? name : `${name}: ${errorType}`;
}

function Names({ names }: { names: readonly string[] }): ReactNode {
  return <span title={names.join(', ')}>{names.join(', ')}</span>;
}

export function TracesScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const { list, query } = useTraces();
  const items = useDistinct(list.items, keyOf);
  const hasFilter = Object.keys(query).some((name) => name !== 'tenant_id');
  return (
    <Screen
      title="Traces"
      summary="What agents did, from their OpenTelemetry traces. Those that started last are first."
      request={{ method: 'GET', path: '/v1/traces', query }}
      toolbar={
        <>
          <RangeFilter label="Any time" periods={PERIODS} step={MINUTE_MS} />
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
          <SelectFilter name="failed" label="Any call" choices={FAILED_KINDS} width={150} />
          <TextFilter name="failure" label="Name of failed call" width={160} />
        </>
      }
    >
      <DataTable
        label="Traces"
        list={{ ...list, items }}
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

type TraceQuery = NonNullable<NonNullable<Parameters<typeof listTraces>[0]>['query']>;

function useTraces(): { list: PagedList<Trace>; query: TraceQuery } {
  const [{ service, agent, model, tool, min, errors, failed, failure }] = useUrlState();
  const filter = useTenantFilter();
  const { from, to } = useTimeRange(MINUTE_MS);
  const failedKind = FAILED_KINDS.find(({ value }) => value === failed)?.value;
  const query = {
    ...filter,
    ...(from !== undefined && { started_after: from }),
    ...(to !== undefined && { started_before: to }),
    ...(service !== undefined && { service }),
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    ...(tool !== undefined && { tool }),
    ...(min !== undefined && { min_duration_ms: Number(min) }),
    ...(errors !== undefined && { errors_only: true }),
    ...(failedKind !== undefined && { failed_kind: failedKind }),
    ...(failure !== undefined && { failed_name: failure }),
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
