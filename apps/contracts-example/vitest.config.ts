import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    // Long, because the machine may do other work.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
