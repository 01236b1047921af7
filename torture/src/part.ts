/** The options of a run. */
export type Options = {
  /** Few loops and short waits. `npm run test:deep` runs this form. */
  short: boolean;
  /** How many loops the parts run; null: their own number. */
  loops: number | null;
  /** The seed of random choices. */
  seed: number;
  /** Receives the progress of a long part now and then, and each fault at once. */
  progress?: (line: string) => void;
};

/** The result for one promise. */
export type Finding = {
  promise: string;
  verdict: 'kept' | 'broken' | 'not run';
  /** The figures as text for the table. */
  measured: string;
  figures: Record<string, number>;
  /** The faults, or why it was not run. */
  faults: string[];
};

/** One part of the suite: it attacks the service, and checks that promises still hold. */
export type Part = { name: string; run: (options: Options) => Promise<Finding[]> };

type Measured = Pick<Finding, 'promise' | 'measured'> & { figures?: Record<string, number>; faults: string[] };

/** The result of a tested promise: broken if there is any fault. */
export function finding({ promise, measured, figures = {}, faults }: Measured): Finding {
  return { promise, verdict: faults.length === 0 ? 'kept' : 'broken', measured, figures, faults };
}

/** A promise that could not be tested on this machine. It never counts as kept. */
export function notRun(promise: string, why: string): Finding {
  return { promise, verdict: 'not run', measured: why, figures: {}, faults: [] };
}
