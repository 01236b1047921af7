import { listUsage, type RuntimeObservation, type Usage } from '@quartermaster/client';
import { useQuery } from '@tanstack/react-query';
import { memo, type ReactNode } from 'react';
import { formatCompact } from '../../components/format.ts';
import { Sparkline } from '../../components/sparkline.tsx';
import { holds, useMe } from '../../data/me.ts';
import { readAll } from '../../data/pages.ts';
import { useTenantFilter } from '../../data/tenant.ts';
import classes from './inbox.module.css';

const DAYS = 14;
const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_ROWS = 2000;

type Props = {
  /** What nobody has decided about; null where the view shows others. */
  newObservations: readonly RuntimeObservation[] | null;
};

/** The last two weeks in a few numbers: what the decisions are about. */
export const OverviewStrip = memo(function OverviewStrip({ newObservations }: Props): ReactNode {
  const filter = useTenantFilter();
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
          limit: 100,
          ...(cursor !== undefined && { cursor }),
        };
        return (await listUsage({ query, signal, throwOnError: true })).data;
      }, MAX_ROWS),
    enabled: mayRead,
  });
  if (!mayRead || data === undefined || data.items.length === 0) return null;
  const sums = (valueOf: (row: Usage) => number) => sumsByDay(days, data.items, valueOf);
  const tiles = [
    { label: 'Calls', values: sums(({ calls }) => calls) },
    { label: 'Errors', values: sums(({ errors }) => errors) },
    { label: 'Tokens', values: sums((row) => row.inputTokens + row.outputTokens) },
    ...(newObservations === null ? [] : [{ label: 'New, first seen', values: countsByDay(days, newObservations) }]),
  ];
  return (
    <ul className={classes.strip} aria-label={`The last ${DAYS} days`}>
      {tiles.map(({ label, values }) => (
        <li key={label} className={classes.tile}>
          <div>
            <div className={classes.name}>
              {label}, {DAYS} days
            </div>
            <div className={classes.value}>{formatCompact(values.reduce((sum, value) => sum + value, 0))}</div>
          </div>
          <Sparkline values={values} />
        </li>
      ))}
    </ul>
  );
});

/** The dates in UTC, the oldest first. */
function lastDays(): string[] {
  const today = Date.now();
  return Array.from({ length: DAYS }, (_, index) =>
    new Date(today - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
}

function countsByDay(days: readonly string[], rows: readonly RuntimeObservation[]): number[] {
  return days.map((day) => rows.filter(({ firstSeenAt }) => firstSeenAt.startsWith(day)).length);
}

function sumsByDay(days: readonly string[], rows: readonly Usage[], valueOf: (row: Usage) => number): number[] {
  return days.map((day) =>
    rows.filter(({ start }) => start?.startsWith(day) === true).reduce((sum, row) => sum + valueOf(row), 0),
  );
}
