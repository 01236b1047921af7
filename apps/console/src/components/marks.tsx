import type { ObservationRisk } from '@quartermaster/client';
import type { ReactNode } from 'react';
import classes from './marks.module.css';

/** The three meanings that have a colour everywhere. Each also has a shape and a word. */
export type Meaning = 'declared' | 'unknown' | 'blocked';

const SHAPES: Record<Meaning, ReactNode> = {
  declared: <circle cx="6" cy="6" r="4" fill="currentColor" />,
  unknown: <path d="M6 1l5 5-5 5-5-5z" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  blocked: <path d="M2 2h8v8H2zM3.500 8.500l5-5" fill="none" stroke="currentColor" strokeWidth="1.8" />,
};

export function MeaningShape({ meaning }: { meaning: Meaning }): ReactNode {
  return (
    <svg className={classes[meaning]} width="12" height="12" viewBox="0 0 12 12" aria-hidden="true" focusable="false">
      {SHAPES[meaning]}
    </svg>
  );
}

export function MeaningMark({ meaning, children }: { meaning: Meaning; children?: ReactNode }): ReactNode {
  return (
    <span className={`${classes.mark} ${classes[meaning]}`}>
      <MeaningShape meaning={meaning} />
      {children ?? meaning}
    </span>
  );
}

/** The levels of risk in their order. */
export const RISK_RANK = { low: 1, medium: 2, high: 3 } as const satisfies Record<ObservationRisk['level'], number>;

/** The risk as rising bars and a word. It has no colour: the three colours mean other things. */
export function RiskMark({ level }: { level: ObservationRisk['level'] }): ReactNode {
  return (
    <span className={classes.risk} data-level={level}>
      <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true" focusable="false">
        {[1, 2, 3].map((bar) => (
          <rect
            key={bar}
            x={(bar - 1) * 4.2}
            y={12 - bar * 4}
            width="2.800"
            height={bar * 4}
            rx="0.5"
            fill="currentColor"
            opacity={bar <= RISK_RANK[level] ? 1 : 0.2}
          />
        ))}
      </svg>
      {level}
    </span>
  );
}

/** A state in words, with a dot that says whether it is live. */
export function StateMark({ state, tone = 'quiet' }: { state: string; tone?: 'live' | 'quiet' | 'danger' }): ReactNode {
  return (
    <span className={classes.state} data-tone={tone}>
      {state.replaceAll('_', ' ')}
    </span>
  );
}

export function Tag({ children }: { children: ReactNode }): ReactNode {
  return <span className={classes.tag}>{children}</span>;
}
