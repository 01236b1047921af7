import { listUsage, type Usage } from '@quartermaster/client';
import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { CostNote } from '../../components/cost.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Views } from '../../components/filters.tsx';
import { formatCompact, formatDuration } from '../../components/format.ts';
import { placeOf } from '../../components/place.tsx';
import { PrincipalName } from '../../components/principal.tsx';
import { RangeFilter } from '../../components/range-filter.tsx';
import { RowLink } from '../../components/row-link.tsx';
import { Screen } from '../../components/screen.tsx';
import { ConnectLink } from '../connect/connect-link.tsx';
import { useSortedColumns } from '../../components/sorted-columns.ts';
import { Empty } from '../../components/states.tsx';
import { type Providers, providerLabel, useProviders } from '../../data/names.ts';
import { useDistinct, usePagedList } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { HOUR_MS, USAGE_PERIODS, useTimeRange } from '../../data/time-range.ts';
import { type UrlState, useUrlState } from '../../data/url-state.ts';
import { UsageCharts } from './usage-charts.tsx';
import { usageColumns } from './usage-columns.tsx';
import { UsageCsv } from './usage-csv.tsx';

type Grouping = {
  label: string;
  kind?: 'model' | 'tool';
  by: NonNullable<NonNullable<NonNullable<Parameters<typeof listUsage>[0]>['query']>['group_by']>;
  /** The view that says more about a row. */
  next: string;
};

const GROUPINGS = {
  models: { label: 'Models', kind: 'model', by: ['kind', 'provider', 'name'], next: 'agents' },
  tools: { label: 'Tools', kind: 'tool', by: ['kind', 'provider', 'name'], next: 'agents' },
  agents: { label: 'Agents', by: ['agent'], next: 'models' },
  accounts: { label: 'Accounts', by: ['account'], next: 'agents' },
  pairs: { label: 'Models of each agent', kind: 'model', by: ['agent', 'kind', 'provider', 'name'], next: 'accounts' },
} as const satisfies Record<string, Grouping>;

const VIEWS = Object.entries(GROUPINGS).map(([value, { label }]) => ({ value, label }));

const ORDERS = { calls: 'calls', errors: 'errors', tokens: 'tokens', cost: 'cost' };

/** The parameters of the address that limit the usage to what a row stands for. */
const LIMITS = ['kind', 'provider', 'name', 'agent', 'account'] as const;
const NO_LIMITS: UrlState = Object.fromEntries(LIMITS.map((name) => [name, undefined]));

/** Large, because the server adds up everything for each page. */
const PAGE_SIZE = 500;

const keyOf = ({ tenantId, subTenantId, providerId, kind, name, agent, account }: Usage) =>
  JSON.stringify([tenantId, subTenantId, providerId, kind, name, agent, account]);

/** Calls, errors, tokens and costs: of which models and tools, by which agents and accounts. */
export function UsageScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const tenant = useTenantFilter();
  const range = useTimeRange(HOUR_MS);
  const { view = '', sort = '' } = state;
  const grouping: Grouping = isKeyOf(GROUPINGS, view) ? GROUPINGS[view] : GROUPINGS.models;
  const filter = { ...tenant, ...limitsOf(state, grouping) };
  const query = {
    ...filter,
    ...range,
    group_by: grouping.by,
    sort: isKeyOf(ORDERS, sort) ? sort : ('calls' as const),
  };
  const list = usePagedList({
    key: ['usage', query],
    read: async (cursor, signal) => {
      const page = { ...query, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) };
      return (await listUsage({ query: page, signal, throwOnError: true })).data;
    },
  });
  const items = useDistinct(list.items, keyOf);
  const columns = useColumns(grouping);
  const isLimited = LIMITS.some((name) => state[name] !== undefined);
  return (
    <Screen
      title="Usage"
      summary={
        <p>
          {isLimited ? <WhatIsShown state={state} /> : 'Calls, errors and tokens.'}{' '}
          <CostNote costs={items.map(({ cost }) => cost)} />
        </p>
      }
      request={{ method: 'GET', path: '/v1/usage', query }}
      actions={<UsageCsv query={query} keyOf={keyOf} />}
      toolbar={
        <>
          <Views label="Usage of" views={VIEWS} />
          <span className="grow" />
          {isLimited && (
            <Button variant="default" onClick={() => setState(NO_LIMITS)}>
              Show all again
            </Button>
          )}
          <RangeFilter label="Last 30 days" periods={USAGE_PERIODS} step={HOUR_MS} />
        </>
      }
    >
      <UsageCharts of={isLimited ? 'what is chosen' : `all ${grouping.label.toLowerCase()}`} filter={filter}>
        <DataTable
          label="Usage"
          list={{ ...list, items }}
          columns={columns}
          keyOf={keyOf}
          active={state['row']}
          onActive={(row) => setState({ row })}
          onOpen={(row) => setState({ ...NO_LIMITS, ...moreOf(row, grouping), row: undefined }, { push: true })}
          empty={
            <Empty title="No usage">
              Nothing of this kind was called in this period. Choose a longer period, or another view. <ConnectLink />
            </Empty>
          }
        />
      </UsageCharts>
    </Screen>
  );
}

/** Whether a parameter of the address is one of the known ones. */
function isKeyOf<Known extends object>(known: Known, text: string): text is keyof Known & string {
  return Object.hasOwn(known, text);
}

/** The filters of the API that the address and the view ask for. */
function limitsOf({ kind, provider, name, agent, account }: UrlState, grouping: Grouping) {
  const ofKind = grouping.kind ?? (kind as Usage['kind'] | undefined);
  return {
    ...(ofKind != null && { kind: ofKind }),
    ...(provider !== undefined && { provider_id: provider }),
    ...(name !== undefined && { name }),
    ...(agent !== undefined && { agent }),
    ...(account !== undefined && { account }),
  };
}

/** The parameters of the address of the view that says more about a row. */
function moreOf({ kind, providerId, name, agent, account }: Usage, { next }: Grouping): UrlState {
  return {
    view: next === 'models' ? undefined : next,
    ...(kind !== null && { kind }),
    // Providers that were not stored have no id.
    ...(providerId !== null && providerId !== '' && { provider: providerId }),
    ...(name !== null && { name }),
    ...(agent !== null && { agent }),
    ...(account !== null && { account }),
  };
}

function WhatIsShown({ state: { kind, provider, name, agent, account } }: { state: UrlState }): ReactNode {
  const { byId } = useProviders();
  return (
    <>
      Only calls
      {name !== undefined && (
        <>
          {' '}
          of the {kind ?? 'item'} <strong>{name}</strong>
        </>
      )}
      {provider !== undefined && <> at {providerLabel(byId.get(provider), provider)}</>}
      {agent !== undefined && (
        <>
          {' '}
          by <strong>{agent}</strong>
        </>
      )}
      {account !== undefined && (
        <>
          , reported by <PrincipalName principal={account} />
        </>
      )}
      .
    </>
  );
}

function useColumns(grouping: Grouping): Column<Usage>[] {
  const providers = useProviders();
  const [{ hours, from, to }] = useUrlState();
  const columns = useMemo(
    () => columnsOf(grouping, { hours, from, to }, providers),
    [grouping, hours, from, to, providers],
  );
  return useSortedColumns(columns, ORDERS);
}

function columnsOf(grouping: Grouping, range: UrlState, { byId }: Providers): Column<Usage>[] {
  const { by } = grouping;
  const more = (row: Usage, text: string | null) => (
    <RowLink path="/usage" search={{ ...range, ...moreOf(row, grouping) }} className="truncate">
      <strong>{text}</strong>
    </RowLink>
  );
  const named: Column<Usage>[] = [
    { key: 'agent', header: 'Agent', width: 'minmax(110px, 2fr)', cell: (row) => more(row, row.agent) },
    {
      key: 'name',
      header: grouping.kind === 'tool' ? 'Tool' : 'Model',
      width: 'minmax(110px, 2fr)',
      cell: (row) => (by.includes('agent') ? row.name : more(row, row.name)),
    },
    {
      key: 'provider',
      header: 'Provider',
      width: 'minmax(100px, 1fr)',
      cell: ({ providerId }) =>
        providerId === null || providerId === '' ? (
          <span className="dim">beyond the limit</span>
        ) : (
          <RowLink path={`/providers/${providerId}`}>{providerLabel(byId.get(providerId), providerId)}</RowLink>
        ),
    },
    {
      key: 'account',
      header: 'Account',
      width: 'minmax(140px, 2fr)',
      cell: ({ account }) => <PrincipalName principal={account} />,
    },
  ];
  const { calls, errors, tokens, cost } = usageColumns((row: Usage) => row);
  const ofModels: Column<Usage>[] = [
    tokens,
    cost,
    {
      key: 'in',
      isWideOnly: true,
      header: 'In',
      width: '72px',
      isNumber: true,
      cell: (row) => formatCompact(row.inputTokens),
    },
    {
      key: 'out',
      isWideOnly: true,
      header: 'Out',
      width: '72px',
      isNumber: true,
      cell: (row) => formatCompact(row.outputTokens),
    },
  ];
  return [
    ...named.filter(({ key }) => by.some((dimension) => dimension === key)),
    { key: 'place', isWideOnly: true, header: 'Tenant', width: 'minmax(100px, 1fr)', cell: placeOf },
    calls,
    errors,
    ...(grouping.kind === 'tool' ? [] : ofModels),
    {
      key: 'duration',
      isWideOnly: true,
      header: 'Average time',
      width: '100px',
      isNumber: true,
      cell: (row) => (row.calls > 0 ? formatDuration(row.durationMs / row.calls) : ''),
    },
  ];
}
