import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** The governance loop as a whole, which makes and applies decisions in one transaction each. */
const ON_BOTH = ['test/governance-loop.test.ts'];

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
    // Long, because the machine may do other work. A test whose point is a time measures it.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    // The files of a project share the database of the seed.
    isolate: false,
    maxWorkers: 1,
    experimental: { viteModuleRunner: false },
    projects: [
      {
        extends: true,
        test: { name: 'sqlite', include: ['test/**/*.test.ts'], exclude: ON_POSTGRES_ALONE, globalSetup },
      },
      { extends: true, test: { name: 'postgres', include: [...ON_BOTH, ...ON_POSTGRES_ALONE], globalSetup } },
    ],
  },
});
