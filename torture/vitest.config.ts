import { defineConfig } from 'vitest/config';

// Each part starts its own processes. Two parts run concurrently, because parts spend time waiting.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    maxWorkers: 1,
    maxConcurrency: 2,
    testTimeout: 600_000,
  },
});
