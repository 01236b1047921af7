import type { MatchableSpan } from '../matching/match.ts';

/** A span with the models, tools and agents that a dialect found in it. Plain data, because it may cross threads. */
export type InterpretedSpan = MatchableSpan & {
  /** The name of the dialect. Null if no dialect recognised the span. */
  dialect: string | null;
  /** The name of the instrumentation scope, and that of the instrumentation if the scope does not tell it. */
  scope: string;
  /** The environment of the service, see `environmentOf`. */
  environment: string | null;
  spanName: string;
  /** Microseconds since 1970. */
  start: number;
  end: number;
  failed: boolean;
};
