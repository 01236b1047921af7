import { type AgentDetail, listUsage, type Usage } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useMemo } from 'react';
import type { Series } from '../../components/uplot-chart.tsx';
import { holds, useMe } from '../../data/me.ts';
import { readAll } from '../../data/pages.ts';
import classes from './agents.module.css';
import { useUsageRange } from './usage-range.ts';
import { useUrlState } from '../../data/url-state.ts';

const UPlotChart = lazy(() => import('../../components/uplot-chart.tsx'));

const MAX_ROWS = 2000;
const HEIGHT = 120;

/** Calls, errors and tokens of an agent over time. */
export function AgentUsage({ agent }: { agent: AgentDetail }): ReactNode {
  const mayRead = holds(useMe(), 'usage:read');
  const [{ hours }] = useUrlState();
  const range = useUsageRange();
  const interval = hours === '24' ? ('hour' as const) : ('day' as const);
  const filter = {
    tenant_id: agent.tenantId,
    ...(agent.subTenantId !== null && { sub_tenant_id: agent.subTenantId }),
    agent: agent.name,
    interval,
    ...range,
  };
  const { data } = useQuery({
    queryKey: ['usage-of-agent', filter],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const query = { ...filter, limit: 100, ...(cursor !== undefined && { cursor }) };
        return (await listUsage({ query, signal, throwOnError: true })).data;
      }, MAX_ROWS),
    enabled: mayRead,
  });
  const { times, calls, tokens } = useMemo(() => seriesOf(data?.items ?? []), [data]);
  if (!mayRead || times.length === 0) return null;
  return (
    <div className={classes.charts}>
      <Suspense fallback={<div role="status" aria-label="Loading" style={{ height: HEIGHT }} />}>
        <UPlotChart label={`Calls and errors of ${agent.name}`} times={times} series={calls} height={HEIGHT} />
        <UPlotChart label={`Tokens of ${agent.name}`} times={times} series={tokens} height={HEIGHT} />
      </Suspense>
    </div>
  );
}

function seriesOf(rows: readonly Usage[]): { times: number[]; calls: Series[]; tokens: Series[] } {
  const byTime = Map.groupBy(rows, ({ start }) => Date.parse(start ?? '') / 1000);
  const times = [...byTime.keys()].filter(Number.isFinite).toSorted((a, b) => a - b);
  const sums = (valueOf: (row: Usage) => number) =>
    times.map((time) => (byTime.get(time) ?? []).reduce((sum, row) => sum + valueOf(row), 0));
  return {
    times,
    calls: [
      { label: 'Calls', values: sums(({ calls }) => calls) },
      { label: 'Errors', values: sums(({ errors }) => errors), isProblem: true },
    ],
    tokens: [{ label: 'Tokens', values: sums((row) => row.inputTokens + row.outputTokens) }],
  };
}
