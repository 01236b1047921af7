import { listUsage, type Usage } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useMemo } from 'react';
import type { Series } from '../../components/uplot-chart.tsx';
import { holds, useMe } from '../../data/me.ts';
import { readAll } from '../../data/pages.ts';
import { useUrlParameter } from '../../data/url-state.ts';
import classes from './usage.module.css';
import { useUsageRange } from './usage-range.ts';

const UPlotChart = lazy(() => import('../../components/uplot-chart.tsx'));

const MAX_ROWS = 2000;
const HEIGHT = 120;

type Filter = Omit<
  NonNullable<NonNullable<Parameters<typeof listUsage>[0]>['query']>,
  'from' | 'to' | 'interval' | 'group_by' | 'sort' | 'limit' | 'cursor'
>;

type Props = {
  filter: Filter;
  /** Whose usage it is, for screen readers. */
  of: string;
  /** The table below. */
  children: ReactNode;
};

/** Calls, errors and tokens over time, above a table. */
export function UsageCharts({ children, ...props }: Props): ReactNode {
  return (
    <div className={classes.column}>
      <Charts {...props} />
      {children}
    </div>
  );
}

function Charts({ filter, of }: Omit<Props, 'children'>): ReactNode {
  const mayRead = holds(useMe(), 'usage:read');
  const interval = useUrlParameter('hours') === '24' ? ('hour' as const) : ('day' as const);
  const query = { ...filter, interval, ...useUsageRange() };
  const { data } = useQuery({
    queryKey: ['usage-over-time', query],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const page = { ...query, limit: 1000, ...(cursor !== undefined && { cursor }) };
        return (await listUsage({ query: page, signal, throwOnError: true })).data;
      }, MAX_ROWS),
    enabled: mayRead,
  });
  const { times, calls, tokens } = useMemo(() => seriesOf(data?.items ?? []), [data]);
  if (!mayRead || times.length === 0) return null;
  if (data?.isComplete === false) return <p className={classes.note}>Choose a tenant to see charts.</p>;
  return (
    <div className={classes.charts}>
      <Suspense fallback={<div role="status" aria-label="Loading" style={{ height: HEIGHT }} />}>
        <UPlotChart label={`Calls and errors of ${of}`} times={times} series={calls} height={HEIGHT} />
        <UPlotChart label={`Tokens of ${of}`} times={times} series={tokens} height={HEIGHT} />
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
