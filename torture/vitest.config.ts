import { defineConfig } from 'vitest/config';

// Each part starts processes of its own. Two parts at once, because parts also wait.
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
