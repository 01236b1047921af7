import { listUsage, type Usage } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react';
import { plural } from '../../components/format.ts';
import type { Series } from '../../components/uplot-chart.tsx';
import { useMe } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';
import { readAll } from '../../data/pages.ts';
import { HOUR_MS, useTimeRange } from '../../data/time-range.ts';
import classes from './usage.module.css';

const UPlotChart = lazy(() => import('../../components/uplot-chart.tsx'));

const MAX_ROWS = 2000;
const HEIGHT = 120;

const DAY_MS = 24 * HOUR_MS;
const USUAL_DAYS = 30;

/** Longer ranges are shown by day. In hours. */
const MAX_HOURLY = 48;

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
  const steps = useSteps();
  const { interval, from, to } = steps;
  const query = { ...filter, interval, from, to };
  const { data } = useQuery({
    queryKey: ['usage-over-time', query],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const page = { ...query, limit: 1000, ...(cursor !== undefined && { cursor }) };
        return (await listUsage({ query: page, signal, throwOnError: true })).data;
      }, MAX_ROWS),
    enabled: mayRead,
  });
  const { times, calls, tokens } = useMemo(() => seriesOf(data?.items ?? [], steps), [data, steps]);
  if (!mayRead || data === undefined) return null;
  if (!data.isComplete) return <p className={classes.note}>Choose a tenant to see charts.</p>;
  if (data.items.length === 0) return <p className={classes.note}>No call in this time.</p>;
  const each = interval === 'hour' ? 'per hour' : 'per day of UTC';
  const charts = [
    { title: 'Calls and errors', series: calls },
    { title: 'Tokens', series: tokens },
  ];
  return (
    <div className={classes.charts}>
      <Suspense fallback={<div role="status" aria-label="Loading" style={{ height: HEIGHT }} />}>
        {charts.map(({ title, series }) => (
          <figure key={title} className={classes.chart}>
            <figcaption>
              {title} {each}
            </figcaption>
            {series.some(({ values }) => values.some((value) => value > 0)) ? (
              <UPlotChart
                label={`${title} of ${of}: ${plural(times.length, interval)}`}
                times={times}
                series={series}
                height={HEIGHT}
              />
            ) : (
              <p className="dim">None in this time.</p>
            )}
          </figure>
        ))}
      </Suspense>
    </div>
  );
}

type Steps = { interval: 'hour' | 'day'; from: string; to: string };

/** The hours or days of the range of the screen. A day that began before the range is left out: its sum is of more than the range. */
function useSteps(): Steps {
  const { from, to } = useTimeRange(HOUR_MS);
  const [now] = useState(() => Math.ceil(Date.now() / HOUR_MS) * HOUR_MS);
  return useMemo(() => {
    const end = to === undefined ? now : Date.parse(to);
    const begin = from === undefined ? end - USUAL_DAYS * DAY_MS : Date.parse(from);
    const interval = end - begin > MAX_HOURLY * HOUR_MS ? 'day' : 'hour';
    const step = stepOf(interval);
    const roundedUp = (time: number) => new Date(Math.ceil(time / step) * step).toISOString();
    return { interval, from: roundedUp(begin), to: roundedUp(end) };
  }, [from, to, now]);
}

function stepOf(interval: Steps['interval']): number {
  return interval === 'hour' ? HOUR_MS : DAY_MS;
}

/** The sums of each hour or day of a range. Of those without a call the API answers nothing. */
function seriesOf(
  rows: readonly Usage[],
  { interval, from, to }: Steps,
): { times: number[]; calls: Series[]; tokens: Series[] } {
  const byTime = Map.groupBy(rows, ({ start }) => Date.parse(start ?? '') / 1000);
  const [first, step] = [Date.parse(from), stepOf(interval)];
  const count = Math.max(0, (Date.parse(to) - first) / step);
  const times = Array.from({ length: count }, (_, index) => (first + index * step) / 1000);
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
