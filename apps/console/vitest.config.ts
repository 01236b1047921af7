import { fileURLToPath } from 'node:url';
import { TIME_LIMITS } from '@quartermaster/db/testing/scale.ts';
import { defineConfig } from 'vitest/config';

/** Test files that only `npm run test:deep` runs. They check accessibility, too. */
const DEEP = 'test/**/*.deep.test.ts';

/** The governance loop as a whole, which makes and applies decisions in one transaction each. */
const ON_BOTH = ['test/governance-loop{,.deep}.test.ts'];

/** A server that goes away. */
const ON_POSTGRES_ALONE = ['test/postgres/**/*.test.ts'];

const globalSetup = [
  fileURLToPath(import.meta.resolve('@quartermaster/db/testing/database-setup.ts')),
  './testing/build.ts',
];

export default defineConfig({
  test: {
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    ...TIME_LIMITS,
    // The files of a project share the database of the seed.
    isolate: false,
    maxWorkers: 1,
    experimental: { viteModuleRunner: false },
    projects: [
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: ['test/**/*.test.ts'],
          exclude: [DEEP],
          globalSetup,
          provide: { accessibility: false },
        },
      },
      {
        extends: true,
        test: {
          name: 'deep-sqlite',
          include: [DEEP],
          exclude: ON_POSTGRES_ALONE,
          globalSetup,
          provide: { accessibility: true },
        },
      },
      {
        extends: true,
        test: {
          name: 'deep-postgres',
          include: [...ON_BOTH, ...ON_POSTGRES_ALONE],
          globalSetup,
          provide: { accessibility: true },
        },
      },
    ],
  },
});
