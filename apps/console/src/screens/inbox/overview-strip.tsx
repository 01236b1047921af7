import { listUsage, type RuntimeObservation, type Usage } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { memo, type ReactNode, useMemo } from 'react';
import { formatCompact } from '../../components/format.ts';
import { Sparkline } from '../../components/sparkline.tsx';
import { useMe } from '../../data/me.ts';
import { holds } from '../../data/rights.ts';
import { readAll } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import classes from './inbox.module.css';

const DAYS = 14;
const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_ROWS = 2000;

type Props = {
  provider: string | undefined;
  kind: Usage['kind'] | undefined;
  agent: string | undefined;
  /** Whether the list has a filter that usage does not have. The figures of usage would then be about more than the list. */
  hasOtherFilter: boolean;
  /** The observations without a decision. Null where the view shows others. */
  newObservations: readonly RuntimeObservation[] | null;
  /** Whether there are more of them. */
  hasMore: boolean;
};

/** The last two weeks in a few numbers: what the decisions are about. The figures have the filters of the list. */
export const OverviewStrip = memo(function OverviewStrip(props: Props): ReactNode {
  const { provider, kind, agent, hasOtherFilter, newObservations, hasMore } = props;
  const tenant = useTenantFilter();
  const filter = {
    ...tenant,
    ...(provider !== undefined && { provider_id: provider }),
    ...(kind != null && { kind }),
    ...(agent !== undefined && { agent }),
  };
  const isFiltered = hasOtherFilter || provider !== undefined || kind != null || agent !== undefined;
  const mayRead = holds(useMe(), 'usage:read');
  const days = lastDays();
  const from = `${days[0]}T00:00:00Z`;
  const { data } = useQuery({
    queryKey: ['usage-by-day', filter, from],
    queryFn: ({ signal }) =>
      readAll(async (cursor) => {
        const query = {
          ...filter,
          from,
          interval: 'day' as const,
          limit: 1000,
          ...(cursor !== undefined && { cursor }),
        };
        return (await listUsage({ query, signal, throwOnError: true })).data;
      }, MAX_ROWS),
    enabled: mayRead && !hasOtherFilter,
  });
  const ofUsage = useMemo(() => usageTiles(data?.items ?? []), [data]);
  if (!mayRead || (data === undefined && !hasOtherFilter)) return null;
  if (data?.items.length === 0 && !isFiltered) return null;
  const tiles = [
    ...(hasOtherFilter || data === undefined ? [] : ofUsage.map((tile) => ({ ...tile, isPart: !data.isComplete }))),
    ...(newObservations === null
      ? []
      : [{ label: 'New', values: countsByDay(days, newObservations), isPart: hasMore }]),
  ];
  if (tiles.length === 0) return null;
  return (
    <ul className={classes.strip} aria-label={`The last ${DAYS} days`}>
      {tiles.map(({ label, values, isPart }) => (
        <li key={label} className={classes.tile}>
          <div>
            <div className={classes.name}>
              {label}
              <span className={classes.days}>, {DAYS} days</span>
            </div>
            <div className={classes.value}>
              {formatCompact(values.reduce((sum, value) => sum + value, 0))}
              {isPart && (
                <span title="There are more. So many were read.">
                  +<span className="visually-hidden">or more</span>
                </span>
              )}
            </div>
          </div>
          <Sparkline values={values} />
        </li>
      ))}
    </ul>
  );
});

/** Computed once for an answer, which may have thousands of rows: the list beside it changes for each typed character. */
function usageTiles(rows: readonly Usage[]) {
  const days = lastDays();
  return [
    { label: 'Calls', values: sumsByDay(days, rows, ({ calls }) => calls) },
    { label: 'Errors', values: sumsByDay(days, rows, ({ errors }) => errors) },
    { label: 'Tokens', values: sumsByDay(days, rows, (row) => row.inputTokens + row.outputTokens) },
  ];
}

/** The dates in UTC, the oldest first. */
function lastDays(): string[] {
  const today = Date.now();
  return Array.from({ length: DAYS }, (_, index) =>
    new Date(today - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
}

/** Rows that were decided stay in view, but are not new any more. */
function countsByDay(days: readonly string[], rows: readonly RuntimeObservation[]): number[] {
  const open = rows.filter(({ status }) => status === 'open');
  return days.map((day) => open.filter(({ firstSeenAt }) => firstSeenAt.startsWith(day)).length);
}

function sumsByDay(days: readonly string[], rows: readonly Usage[], valueOf: (row: Usage) => number): number[] {
  return days.map((day) =>
    rows.filter(({ start }) => start?.startsWith(day) === true).reduce((sum, row) => sum + valueOf(row), 0),
  );
}
