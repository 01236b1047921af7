import 'vitest';

declare module 'vitest' {
  // oxlint-disable-next-line typescript/consistent-type-definitions -- an interface alone is merged
  interface ProvidedContext {
    /** The number of requests for each operation, instead of the usual one. */
    fuzzCases?: number;
    /** The seed, to repeat a run. */
    fuzzSeed?: number;
  }
}
