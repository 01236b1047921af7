import 'vitest';

declare module 'vitest' {
  // oxlint-disable-next-line typescript/consistent-type-definitions -- an interface alone is merged
  interface ProvidedContext {
    /** Requests for each operation, where not the usual number. */
    fuzzCases?: number;
    /** What chance is made of, where a run is to be had again. */
    fuzzSeed?: number;
  }
}
