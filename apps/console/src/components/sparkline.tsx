import type { ReactNode } from 'react';

const WIDTH = 120;
const HEIGHT = 28;

/** A small bar for each value. The numbers beside it say the same, so screen readers skip it. */
export function Sparkline({ values }: { values: readonly number[] }): ReactNode {
  const max = Math.max(1, ...values);
  const step = WIDTH / values.length;
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {values.map((value, index) => {
        const height = value === 0 ? 1 : Math.max(2, (value / max) * HEIGHT);
        return (
          <rect
            // oxlint-disable-next-line react/no-array-index-key -- The position is what identifies a day.
            key={index}
            x={index * step + 1}
            y={HEIGHT - height}
            width={step - 2}
            height={height}
            fill="currentColor"
            opacity={value === 0 ? 0.3 : 0.85}
          />
        );
      })}
    </svg>
  );
}
