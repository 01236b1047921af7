import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    // One after the other: they build the same folder.
    maxWorkers: 1,
    // Long, because the machine may do other work.
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
});
