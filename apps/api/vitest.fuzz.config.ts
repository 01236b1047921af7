import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const globalSetup = [fileURLToPath(import.meta.resolve('@quartermaster/db/testing/database-setup.ts'))];
const include = ['test/fuzz/operations.deep.test.ts'];
const provide = {
  fuzzCases: Number(process.env['FUZZ_CASES'] ?? 200),
  fuzzSeed: Number(process.env['FUZZ_SEED'] ?? 1),
};

/** A test that ends early goes on beside the next ones, which then see its changes. */
const testTimeout = 600_000;

// The fuzzing alone, with as many requests for each operation as are asked for: the torture suite's long form.
export default defineConfig({
  test: {
    projects: ['sqlite', 'postgres'].map((name) => ({ test: { name, include, globalSetup, provide, testTimeout } })),
  },
});
