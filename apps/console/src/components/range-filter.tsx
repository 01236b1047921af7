import { Select } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { instantOf, localTextOf } from '../data/local-time.ts';
import { useTimeRange } from '../data/time-range.ts';
import { useTimeZone } from '../data/time-zone.ts';
import { useSetUrlState, useUrlState } from '../data/url-state.ts';
import { TYPING_MS } from './filters.tsx';
import classes from './range-filter.module.css';
import { formatMinute } from './time.tsx';

const BETWEEN = { value: 'between', label: 'Between …' };

type Props = {
  /** What is shown if nothing is chosen. */
  label: string;
  periods: readonly { value: string; label: string }[];
  /** What the ends of the range are multiples of, in milliseconds: see {@link useTimeRange}. */
  step: number;
};

/** The time range of a screen: a period that ends now, or a range between two times in the reader's zone. */
export function RangeFilter({ label, periods, step }: Props): ReactNode {
  const [{ hours, from, to }] = useUrlState();
  const setState = useSetUrlState();
  const timeZone = useTimeZone();
  const isBetween = (from ?? to) !== undefined;
  return (
    <span className="row">
      <Select
        aria-label={label}
        placeholder={label}
        w={132}
        data={[...periods, BETWEEN]}
        value={isBetween ? BETWEEN.value : (hours ?? null)}
        onChange={(chosen) =>
          setState(
            chosen === BETWEEN.value
              ? { hours: undefined, ...yesterday(timeZone) }
              : { hours: chosen ?? undefined, from: undefined, to: undefined },
          )
        }
        clearable
        allowDeselect={false}
        clearButtonProps={{ 'aria-label': `Clear ${label}`, tabIndex: -1 }}
      />
      {isBetween && (
        <>
          <TimeField name="from" label="From" />
          <TimeField name="to" label="to" />
          <UsedRange step={step} />
        </>
      )}
    </span>
  );
}

function yesterday(timeZone: string) {
  const today = localTextOf(new Date().toISOString(), timeZone).slice(0, 10);
  const to = instantOf(`${today}T00:00`, timeZone);
  const noonOfYesterday = Date.parse(to ?? '') - 12 * 3_600_000;
  const day = localTextOf(new Date(noonOfYesterday).toISOString(), timeZone).slice(0, 10);
  return { from: instantOf(`${day}T00:00`, timeZone), to };
}

/** One end of the range. It is applied when the user pauses: a year is typed digit by digit. */
function TimeField({ name, label }: { name: 'from' | 'to'; label: string }): ReactNode {
  const [{ [name]: at }] = useUrlState();
  const setState = useSetUrlState();
  const timeZone = useTimeZone();
  const given = localTextOf(at, timeZone);
  const [typed, setTyped] = useState(given);
  const [applied, setApplied] = useState(given);
  // The address changed by itself: by the back button, or because a period was chosen.
  if (given !== applied) {
    setApplied(given);
    setTyped(given);
  }
  useEffect(() => {
    if (typed === given || (typed !== '' && typed < EARLIEST)) return;
    const timer = setTimeout(() => setState({ [name]: instantOf(typed, timeZone) }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, given, name, timeZone, setState]);
  return (
    <label className={classes.time}>
      {label}
      <input type="datetime-local" value={typed} onChange={(event) => setTyped(event.currentTarget.value)} />
    </label>
  );
}

/** A year before this one is still being typed. */
const EARLIEST = '2000';

/** Says which range is used if it is not the one that was typed. */
function UsedRange({ step }: { step: number }): ReactNode {
  const [asked] = useUrlState();
  const used = useTimeRange(step);
  const timeZone = useTimeZone();
  const isAsTyped = (['from', 'to'] as const).every((name) => sameTime(asked[name], used[name]));
  if (isAsTyped) return null;
  const text = (at: string | undefined, otherwise: string) =>
    at === undefined ? otherwise : formatMinute(at, timeZone);
  return (
    <span className={classes.used} title="Usage is added up by full hours of UTC.">
      Counted: {text(used.from, 'the start')} to {text(used.to, 'now')}
    </span>
  );
}

function sameTime(a: string | undefined, b: string | undefined): boolean {
  return a === b || Date.parse(a ?? '') === Date.parse(b ?? '');
}
