import { defineConfig } from 'vitest/config';

// Every file starts processes that the machine's cores share: two at once are enough.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    maxWorkers: 2,
    testTimeout: 180_000,
  },
});
