import type { Graph } from '@quartermaster/client';
import { getGraphOptions } from '@quartermaster/client/@tanstack/react-query.gen.ts';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { CostNote, CostText } from '../../components/cost.tsx';
import { Views } from '../../components/filters.tsx';
import { formatNumber, plural } from '../../components/format.ts';
import { useKeys } from '../../components/hotkeys.ts';
import { type Meaning, MeaningMark, Tag } from '../../components/marks.tsx';
import { RangeFilter } from '../../components/range-filter.tsx';
import { Screen } from '../../components/screen.tsx';
import { ConnectLink } from '../connect/connect-link.tsx';
import { Empty, Failed, Loading } from '../../components/states.tsx';
import { problemOf } from '../../data/problem.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import { HOUR_MS, USAGE_PERIODS, useTimeRange } from '../../data/time-range.ts';
import { useUrlState } from '../../data/url-state.ts';
import { type CoverageOf, MARKED, useCoverageOf, wordsOf } from './coverage.ts';
import { layoutOf, type MapNode } from './layout.ts';
import classes from './map.module.css';
import { CoverageMark, MapDrawing } from './map-drawing.tsx';

const MEANINGS: readonly Meaning[] = ['unknown', 'blocked', 'declared'];

/** Which agents use which providers, models and tools. */
export function MapScreen(): ReactNode {
  const [state, setState] = useUrlState();
  const filter = useTenantFilter();
  const query = { ...filter, ...useTimeRange(HOUR_MS) };
  const { data: graph, error, refetch } = useQuery(getGraphOptions({ query }));
  const coverageOf = useCoverageOf(filter, state['hours']);
  const isTable = state['as'] === 'table';
  useKeys({ Escape: () => setState({ agent: undefined, provider: undefined }) });
  return (
    <Screen
      title="Map"
      summary={
        <>
          Which agents use which providers, models and tools.{' '}
          <CostNote costs={graph?.edges.map(({ cost }) => cost) ?? []} />
        </>
      }
      scrolls={!isTable}
      request={{ method: 'GET', path: '/v1/graph', query }}
      toolbar={
        <>
          <Views
            label="Meaning"
            views={[
              { value: 'all', label: 'Everything' },
              { value: 'unknown', label: 'Unknown' },
              { value: 'blocked', label: 'Blocked' },
              { value: 'declared', label: 'Declared' },
            ]}
          />
          <span className={classes.legend}>
            {MEANINGS.map((meaning) => (
              <MeaningMark key={meaning} meaning={meaning} />
            ))}
            {MARKED.filter((marked) => marked !== 'silent').map((marked) => (
              <span key={marked} className="row">
                <svg width="16" height="16" viewBox="-8 -8 16 16" aria-hidden="true">
                  <CoverageMark state={marked} x={0} y={0} />
                </svg>
                {wordsOf(marked)}
              </span>
            ))}
          </span>
          <span className="grow" />
          {(state['agent'] ?? state['provider']) !== undefined && (
            <Button variant="default" onClick={() => setState({ agent: undefined, provider: undefined })}>
              Show all again
            </Button>
          )}
          <RangeFilter label="Last 30 days" periods={USAGE_PERIODS} step={HOUR_MS} />
          <Views
            name="as"
            label="Form"
            views={[
              { value: 'map', label: 'Map' },
              { value: 'table', label: 'Table' },
            ]}
          />
        </>
      }
    >
      {error !== null && <Failed problem={problemOf(error)} retry={() => void refetch()} />}
      {error === null && graph === undefined && <Loading />}
      {graph !== undefined && graph.edges.length === 0 && (
        <Empty title="No call in this time">
          Choose a longer period. <ConnectLink />
        </Empty>
      )}
      {graph !== undefined &&
        graph.edges.length > 0 &&
        (isTable ? (
          <EdgeTable graph={graph} coverageOf={coverageOf} />
        ) : (
          <Drawn graph={graph} coverageOf={coverageOf} />
        ))}
    </Screen>
  );
}

type Shown = { graph: Graph; coverageOf: CoverageOf };

function Drawn({ graph, coverageOf }: Shown): ReactNode {
  const [{ view, agent, provider, tenant }, setState] = useUrlState();
  const navigate = useNavigate();
  const meaning = MEANINGS.find((each) => each === view) ?? null;
  const layout = useMemo(
    () => layoutOf(graph, { meaning, agent, provider, coverageOf }),
    [graph, meaning, agent, provider, coverageOf],
  );
  const open = ({ focus }: MapNode) => {
    if ('agent' in focus) setState({ agent: focus.agent, provider: undefined }, { push: true });
    else if ('provider' in focus) setState({ provider: focus.provider, agent: undefined }, { push: true });
    else if (focus.observation !== null) {
      void navigate({ to: '/inbox', search: { tenant, view: 'all', item: focus.observation } });
    }
  };
  if (layout.nodes.length === 0) return <Empty title="Nothing of this kind was used">Show everything again.</Empty>;
  return (
    <>
      <MapDrawing layout={layout} open={open} />
      {graph.omittedEdges > 0 && (
        <p className={classes.omitted}>
          {plural(graph.omittedEdges, 'connection')} with {plural(graph.omittedCalls, 'call')} in all are left out.
        </p>
      )}
    </>
  );
}

type Edge = Graph['edges'][number] & { state: Meaning; providerName: string; coverage: string };

const keyOf = (edge: Edge) => JSON.stringify([edge.tenantId, edge.agent, edge.providerId, edge.kind, edge.name]);

const COLUMNS: Column<Edge>[] = [
  { key: 'state', header: 'Meaning', width: '100px', cell: ({ state }) => <MeaningMark meaning={state} /> },
  {
    key: 'agent',
    header: 'Agent',
    width: 'minmax(100px, 1fr)',
    cell: ({ agent }) => (
      <Link to="/agents" search={(before) => ({ tenant: before['tenant'], q: agent })}>
        {agent}
      </Link>
    ),
  },
  {
    key: 'provider',
    header: 'Provider',
    width: 'minmax(100px, 1fr)',
    cell: ({ providerId, providerName }) => (
      <Link to="/providers/$providerId" params={{ providerId }}>
        {providerName}
      </Link>
    ),
  },
  {
    key: 'item',
    header: 'Uses',
    width: 'minmax(130px, 1.4fr)',
    cell: ({ name, kind }) => (
      <span className="row">
        <strong className="truncate">{name}</strong>
        <Tag>{kind}</Tag>
      </span>
    ),
  },
  { key: 'coverage', header: 'Gateway', isWideOnly: true, width: '130px', cell: ({ coverage }) => coverage },
  { key: 'calls', header: 'Calls', width: '64px', isNumber: true, cell: ({ calls }) => formatNumber(calls) },
  { key: 'errors', header: 'Errors', width: '64px', isNumber: true, cell: ({ errors }) => formatNumber(errors) },
  { key: 'cost', header: 'Cost', width: '84px', isNumber: true, cell: ({ cost }) => <CostText cost={cost} /> },
];

function coverageWordsOf(state: ReturnType<CoverageOf>): string {
  return state === null ? '' : wordsOf(state);
}

/** The same as rows, for screen readers and for those who sort by reading. */
function EdgeTable({ graph, coverageOf }: Shown): ReactNode {
  const [{ view, agent, provider, row }, setState] = useUrlState();
  const items = useMemo(() => {
    const states = new Map(graph.items.map((item) => [`${item.providerId} ${item.kind} ${item.name}`, item.state]));
    const names = new Map(graph.providers.map((each) => [each.id, each.displayName ?? each.name ?? each.id]));
    return graph.edges
      .map((edge) => ({
        ...edge,
        state: states.get(`${edge.providerId} ${edge.kind} ${edge.name}`) ?? ('unknown' as const),
        providerName: names.get(edge.providerId) ?? edge.providerId,
        coverage: coverageWordsOf(coverageOf(edge)),
      }))
      .filter(
        (edge) =>
          (view === undefined || edge.state === view) &&
          (agent === undefined || edge.agent === agent) &&
          (provider === undefined || edge.providerId === provider),
      );
  }, [graph, view, agent, provider, coverageOf]);
  const nothing = () => {};
  const list = {
    items,
    isLoading: false,
    problem: null,
    hasMore: false,
    isFormer: false,
    isLoadingMore: false,
    loadMore: nothing,
    reload: nothing,
  };
  return (
    <DataTable
      label="Who uses what"
      list={list}
      columns={COLUMNS}
      keyOf={keyOf}
      active={row}
      onActive={(key) => setState({ row: key })}
      empty={<Empty title="Nothing of this kind was used">Show everything again.</Empty>}
    />
  );
}
