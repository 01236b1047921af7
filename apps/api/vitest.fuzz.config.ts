import { defineConfig } from 'vitest/config';

// The fuzzing alone, with as many requests for each operation as are asked for: the torture suite's long form.
export default defineConfig({
  test: {
    include: ['test/fuzz/operations.test.ts'],
    provide: { fuzzCases: Number(process.env['FUZZ_CASES'] ?? 200), fuzzSeed: Number(process.env['FUZZ_SEED'] ?? 1) },
  },
});
