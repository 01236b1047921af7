import { defineConfig } from 'vitest/config';

/** Tests that only `npm run test:deep` runs. */
const DEEP = 'test/**/*.deep.test.ts';

export default defineConfig({
  test: {
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    // Long, because the machine may do other work.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    projects: [
      { extends: true, test: { name: 'quick', include: ['test/**/*.test.ts'], exclude: [DEEP] } },
      { extends: true, test: { name: 'deep', include: [DEEP] } },
    ],
  },
});
