/** How a run is made. */
export type Options = {
  /** Few loops and short waits: what `npm test` runs. */
  short: boolean;
  /** Loops of the parts that loop, where a number was asked for. */
  loops: number | null;
  /** What chance is made of: the same number, the same choices. */
  seed: number;
  /** Told now and then how far a long part is, and at once what it finds wrong. */
  progress?: (line: string) => void;
};

/** What became of one promise. */
export type Finding = {
  promise: string;
  verdict: 'kept' | 'broken' | 'not run';
  /** The figures, in words for the table. */
  measured: string;
  figures: Record<string, number>;
  /** What was wrong, or why it was not run. */
  faults: string[];
};

/** One part of the suite: what is done to the service, and what has to hold all the same. */
export type Part = { name: string; run: (options: Options) => Promise<Finding[]> };

type Measured = Pick<Finding, 'promise' | 'measured'> & { figures?: Record<string, number>; faults: string[] };

/** A promise that was put to the test: broken as soon as anything speaks against it. */
export function finding({ promise, measured, figures = {}, faults }: Measured): Finding {
  return { promise, verdict: faults.length === 0 ? 'kept' : 'broken', measured, figures, faults };
}

/** A promise that could not be put to the test here. It never counts as kept. */
export function notRun(promise: string, why: string): Finding {
  return { promise, verdict: 'not run', measured: why, figures: {}, faults: [] };
}
