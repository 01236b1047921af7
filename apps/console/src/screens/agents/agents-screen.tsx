import { type Agent, listAgents } from '@quartermaster/client';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { CostNote } from '../../components/cost.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { TextFilter, Views } from '../../components/filters.tsx';
import { MeaningMark, MeaningShape, RiskMark } from '../../components/marks.tsx';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { RangeFilter } from '../../components/range-filter.tsx';
import { Screen } from '../../components/screen.tsx';
import { ConnectLink } from '../connect/connect-link.tsx';
import { useSortedColumns } from '../../components/sorted-columns.ts';
import { Empty } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { useDistinct, usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { HOUR_MS, USAGE_PERIODS, useTimeRange } from '../../data/time-range.ts';
import { type UrlState, useUrlState } from '../../data/url-state.ts';
import { usageColumns } from '../usage/usage-columns.tsx';
import { AgentsCsv } from './agents-csv.tsx';

const keyOf = ({ id }: Agent) => id;

/** What an agent uses is shown for the same period. */
const withPeriod = ({ tenant, hours, from, to }: UrlState): UrlState => ({ tenant, hours, from, to });

const COLUMNS: Column<Agent>[] = [
  {
    key: 'meaning',
    header: 'Meaning',
    width: '88px',
    cell: ({ declared }) => <MeaningMark meaning={declared ? 'declared' : 'unknown'} />,
  },
  {
    key: 'name',
    header: 'Agent',
    width: 'minmax(110px, 2fr)',
    cell: ({ id, name }) => (
      <Link to="/agents/$agentId" params={{ agentId: id }} search={withPeriod} className="truncate">
        <strong title={name}>{name}</strong>
      </Link>
    ),
  },
  {
    key: 'risk',
    header: 'Risk',
    width: '80px',
    cell: ({ risk }) => risk !== null && <RiskMark level={risk.level} />,
  },
  { key: 'place', isWideOnly: true, header: 'Tenant', width: 'minmax(120px, 1.4fr)', cell: placeOf },
  {
    key: 'account',
    isWideOnly: true,
    header: 'Acts as',
    width: 'minmax(130px, 1.5fr)',
    cell: ({ accounts }) => (
      <span className="row">
        {accounts[0] !== undefined && (
          <span className="truncate">
            <PrincipalName principal={accounts[0]} />
          </span>
        )}
        {accounts.length > 1 && <span className="dim">and {accounts.length - 1} more</span>}
      </span>
    ),
  },
  {
    key: 'first',
    isWideOnly: true,
    header: 'First seen',
    width: '92px',
    cell: ({ firstSeenAt }) => <Time at={firstSeenAt} />,
  },
  { key: 'last', header: 'Last seen', width: '92px', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
  ...Object.values(usageColumns(({ usage }: Agent) => usage)),
];

const ORDERS = { last: 'last_seen_at', calls: 'calls', errors: 'errors', tokens: 'tokens', cost: 'cost' };

type AgentSort = NonNullable<NonNullable<NonNullable<Parameters<typeof listAgents>[0]>['query']>['sort']>;

/** Everything that acts: declared in a manifest, or seen in telemetry. */
export function AgentsScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const navigate = useNavigate();
  const filter = useTenantFilter();
  const range = useTimeRange(HOUR_MS);
  const { view = 'all', q, sort } = state;
  const columns = useSortedColumns(COLUMNS, ORDERS);
  const query = {
    ...filter,
    ...range,
    ...(view !== 'all' && { declared: view === 'declared' }),
    ...(q !== undefined && { text: q }),
    ...(sort !== undefined && { sort: sort as AgentSort }),
  };
  const list = usePagedList({
    key: ['agents', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: 100, ...(cursor !== undefined && { cursor }) };
      return (await listAgents({ query: page, signal, throwOnError: true })).data;
    },
  });
  const items = useDistinct(list.items, keyOf);
  return (
    <Screen
      title="Agents"
      summary={
        <>
          Everything that acts, declared in a manifest or seen in telemetry.{' '}
          <CostNote costs={items.map(({ usage }) => usage.cost)} />
        </>
      }
      request={{ method: 'GET', path: '/v1/agents', query }}
      actions={<AgentsCsv query={query} />}
      toolbar={
        <>
          <Views
            label="View"
            views={[
              { value: 'all', label: 'All' },
              { value: 'unknown', label: 'Unknown' },
              { value: 'declared', label: 'Declared' },
            ]}
          />
          <span className="grow" />
          <TextFilter name="q" label="Search agents" />
          <RangeFilter label="Last 30 days" periods={USAGE_PERIODS} step={HOUR_MS} />
        </>
      }
    >
      <DataTable
        label="Agents"
        list={{ ...list, items }}
        columns={columns}
        keyOf={keyOf}
        active={state['row']}
        onActive={(row) => setState({ row })}
        onOpen={({ id }) => void navigate({ to: '/agents/$agentId', params: { agentId: id }, search: withPeriod })}
        empty={
          <Empty title={q !== undefined || view !== 'all' ? 'No agent matches' : 'No agent yet'}>
            <span className="row">
              <MeaningShape meaning="unknown" /> Agents appear when a manifest declares them, or when their spans
              arrive.
            </span>
            <ConnectLink />
          </Empty>
        }
      />
    </Screen>
  );
}
