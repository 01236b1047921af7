import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    // One process for all files: starting one and loading modules takes longer than most of them.
    isolate: false,
    maxWorkers: 1,
    // Long, because the machine may do other work.
    testTimeout: 180_000,
  },
});
