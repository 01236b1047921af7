import { useComputedColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
// First, because uPlot reads the language when it is loaded.
import './language.ts';
import 'uplot/dist/uPlot.min.css';
import UPlot from 'uplot';
import { useTimeZone } from '../data/time-zone.ts';
import { formatCompact } from './format.ts';

const DAY_S = 86_400;

const DAY = { day: 'numeric', month: 'short' } as const;
const HOUR = { hour: '2-digit', minute: '2-digit' } as const;

export type Series = { label: string; values: readonly number[]; isProblem?: boolean };

type Props = {
  /** Seconds since 1970, ascending. */
  times: readonly number[];
  series: readonly Series[];
  height?: number;
  /** What the chart shows, for screen readers. */
  label: string;
};

/** Values over time as bars. Loaded only by the screens that have a chart. */
export default function UPlotChart(props: Props): ReactNode {
  // It draws on a canvas, which does not follow the colour scheme by itself.
  return <Plot key={useComputedColorScheme()} {...props} />;
}

function Plot({ times, series, height = 160, label }: Props): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const timeZone = useTimeZone();
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const axis = {
      stroke: colour('--qm-dim'),
      grid: { stroke: colour('--qm-border'), width: 1 },
      ticks: { show: false },
    };
    const isDaily = times.every((time) => time % DAY_S === 0);
    // Days are those of UTC, as the API adds them up.
    const zone = isDaily ? 'UTC' : timeZone;
    const format = new Intl.DateTimeFormat('en-GB', { ...(isDaily ? DAY : HOUR), timeZone: zone });
    const timeText = (seconds: number) => format.format(seconds * 1000);
    const timeAxis = {
      ...axis,
      size: 28,
      grid: { show: false },
      ...(isDaily && { incrs: [1, 2, 7, 14, 28].map((days) => days * DAY_S) }),
      values: (_plot: UPlot, splits: number[]) => splits.map(timeText),
    };
    const bars = UPlot.paths.bars?.({ size: [0.7, 24] });
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height,
        tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), zone),
        cursor: { y: false },
        legend: { live: true },
        scales: { x: { range: (_plot, first, last) => [first - halfStep(times), last + halfStep(times)] } },
        axes: [timeAxis, { ...axis, size: 56, values: (_plot, values) => values.map(formatCompact) }],
        series: [
          {
            label: isDaily ? 'Day' : 'Hour',
            value: (_plot, seconds) => (seconds === null ? '' : timeText(seconds)),
          },
          ...series.map(({ label: name, isProblem }) => ({
            label: name,
            value: (_plot: UPlot, value: number | null) => (value === null ? '' : formatCompact(value)),
            stroke: colour(isProblem === true ? '--qm-danger' : '--qm-accent'),
            fill: colour(isProblem === true ? '--qm-danger' : '--qm-accent'),
            points: { show: false },
            ...(bars !== undefined && { paths: bars }),
          })),
        ],
      },
      dataOf(times, series),
      element,
    );
    const resize = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.destroy();
    };
  }, [times, series, height, timeZone]);
  return <div ref={frame} role="img" aria-label={label} className="qm-chart" />;
}

/** uPlot draws no bar for a single time, and an axis of years. Times without a value beside it mend both. */
function dataOf(times: readonly number[], series: readonly Series[]): UPlot.AlignedData {
  const [only] = times;
  if (times.length !== 1 || only === undefined) return [[...times], ...series.map(({ values }) => [...values])];
  return [[only - DAY_S, only, only + DAY_S], ...series.map(({ values }) => [null, ...values, null])];
}

/** Half of the shortest time between two values: the room that the outer bars need. */
function halfStep(times: readonly number[]): number {
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return Math.min(DAY_S, ...steps) / 2;
}
