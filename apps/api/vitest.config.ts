import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Suites that no database has a part in, or only as what every server needs: once is enough. */
const ONCE = [
  'test/api-keys-format.test.ts',
  'test/bad-input-*.test.ts',
  'test/bearer.test.ts',
  'test/client.test.ts',
  'test/document*.test.ts',
  'test/http/**/*.test.ts',
  'test/instrumentations/**/*.test.ts',
  'test/inventory-sync/compare.test.ts',
  'test/jwks.test.ts',
  'test/logs.test.ts',
  'test/manifest-schemas.test.ts',
  'test/otlp/**/*.test.ts',
  'test/outbound*.test.ts',
  'test/quickstart.test.ts',
  'test/server.test.ts',
  'test/token-email.test.ts',
];

/** What embedded databases have of their own: files, keys beside them, locks. */
const SQLITE = [
  'test/audit-chain/many-events.test.ts',
  'test/config.test.ts',
  'test/durability.test.ts',
  // It looks for changes by triggers.
  'test/fuzz/**/*.test.ts',
  'test/lost-secret-key.test.ts',
  'test/secret-key-rotation.test.ts',
  'test/unavailable-database.test.ts',
];

/** What several processes on one server have of their own, and servers that go away. */
const POSTGRES = ['test/postgres/**/*.test.ts'];

const globalSetup = [fileURLToPath(import.meta.resolve('@quartermaster/db/testing/database-setup.ts'))];
const include = ['test/**/*.test.ts'];

export default defineConfig({
  test: {
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    // Two projects share the processor with the database server of one of them.
    testTimeout: 20_000,
    // Each file has servers and databases of its own. What they share takes long to make: the document and its schemas.
    isolate: false,
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { extends: true, test: { name: 'sqlite', include, exclude: POSTGRES, globalSetup } },
      { extends: true, test: { name: 'postgres', include, exclude: [...ONCE, ...SQLITE], globalSetup } },
    ],
  },
});
