import { defineConfig } from 'vitest/config';
import { SEQUENCE, TIME_LIMITS } from './testing/scale.ts';

/** Suites without a database. */
const PURE = ['test/batches.test.ts', 'test/ids.test.ts', 'test/queries-scope.test.ts', 'test/stored-json.test.ts'];

/** Suites for one dialect. */
const SQLITE = ['test/sqlite-*.test.ts', 'test/query-plans.test.ts'];
const POSTGRES = ['test/postgres-*.test.ts'];

/** Test files that only `npm run test:deep` runs. It also runs every suite on PostgreSQL. */
const DEEP = 'test/**/*.deep.test.ts';

const globalSetup = ['testing/database-setup.ts'];
const include = ['test/**/*.test.ts'];

export default defineConfig({
  test: {
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    ...TIME_LIMITS,
    // Files are independent: each has its own databases.
    isolate: false,
    sequence: SEQUENCE,
    // Node runs the files directly, as in production. It is a tenth faster than through vite.
    experimental: { viteModuleRunner: false },
    // The suites of two workspaces run at the same time.
    maxWorkers: 1,
    projects: [
      // `npm test`. Some of the first replace the clock of modules that remember times.
      { extends: true, test: { name: 'pure', include: PURE, isolate: true } },
      { extends: true, test: { name: 'sqlite', include, exclude: [DEEP, ...PURE, ...POSTGRES], globalSetup } },
      // `npm run test:deep`
      { extends: true, test: { name: 'deep-sqlite', include: [DEEP], exclude: [...PURE, ...POSTGRES], globalSetup } },
      { extends: true, test: { name: 'deep-postgres', include, exclude: [...PURE, ...SQLITE], globalSetup } },
    ],
  },
});
