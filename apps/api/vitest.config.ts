import { fileURLToPath } from 'node:url';
import { FULL, SEQUENCE, TIME_LIMITS } from '@quartermaster/db/testing/scale.ts';
import { defineConfig } from 'vitest/config';

/** Test files that only `npm run test:deep` runs. */
const DEEP = 'test/**/*.deep.test.ts';

/** The test files of some subjects: `blocks` stands for `test/blocks.test.ts` and `test/blocks.deep.test.ts`. */
const filesOf = (subjects: readonly string[]) => subjects.map((subject) => `test/${subject}{,.deep}.test.ts`);

/** What `npm test` runs on PostgreSQL: a success of each operation, and writers at the same time. */
const QUICK_ON_POSTGRES = ['test/postgres/each-operation.test.ts', 'test/concurrent-writers.test.ts'];

/**
 * What runs on PostgreSQL in the deep form: everything that depends on its SQL, locks or transactions. Rules that run on top of the
 * same queries are tested on SQLite, an order of magnitude faster. The full form tests everything on both, except what belongs to
 * one of them.
 */
const ON_POSTGRES = filesOf([
  // One success of each operation and some requests made from the document; each write with an Idempotency-Key.
  'fuzz/*',
  'idempotency/**/*',
  'preconditions/entity-tags',
  // A write that fails half-way leaves nothing.
  'atomic-writes',
  // Concurrent writers: one wins, the others get a clear answer, and nothing is lost. Two who take a right from each other at once.
  'concurrent-writers',
  // Batches of removals; conditions with thousands of places.
  'record-retention',
  'tenant-deletion',
  'many-memberships',
  'first-sign-in',
  'development-users',
  'signing-keys',
  // Several processes, and a server that goes away.
  'postgres/**/*',
  'upgrade',
  'audit-chain/{forged,random-tampering,remembered,sealing}',
  'inventory-sync/{header-checks,headers,last-seen,lost-items,new-items,running}',
  // The others count in the memory of their process.
  'rate-limits/shared-limits',
  'server-registration-limit',
  // What other connections see, and when: keys that are revoked, accounts that are disabled.
  'api-keys',
  'credential-expiry',
  // Counts by partial indexes, written out in SQL.
  'endpoints/tenant-usage',
  '{key-lineage,session-grants}',
  // Spans: partitions, aggregation in batches, batches that exceed the parameters of one statement.
  'telemetry/traces/{account-share,conflicting,failed-calls,joint-stores,reading,retention,senders,waterfall}',
  'telemetry/{ingest-logs,unread}',
  // Calls that are corrected, and sums of them.
  'telemetry/calls/{aggregate-records,aggregate-spans,deleted-providers,exactness,replace-records}',
  'endpoints/{agents,channels,coverage,graph,usage}',
  'gateway-decisions/{access-requests,denials,histories,live,manifest-denials}',
  'mcp-proxy/proxied-calls',
  'endpoints/{bulk-decisions,console-sessions,credentials,derived-access,observation-inbox,recommendation-lists,undo-recommendations}',
  'governance/{cardinality,counting,fair-share,large-families,manifest-names,properties,replay,renaming,statements,whole-loop}',
  // Look-ups of providers and items by their names, in one statement for a batch.
  'governance/{agent-manifests,blocked-uses,blocks,match-tools,provider-aliases}',
  // From one database to another.
  'database-move',
]);

/** Suites without a database, or with a single file. Even the full form runs them only on SQLite. */
const ON_SQLITE_ALONE = filesOf([
  'admin-key',
  'api-keys-format',
  'architecture',
  'audit-chain/many-events',
  'backup',
  'bad-input-*',
  'bearer',
  'bootstrap-key',
  'cached-counts',
  'client',
  'config*',
  'console/pages',
  'connection-limits',
  'cursors',
  'doctor',
  'document*',
  'durability',
  'http/**/*',
  'idempotency/killed',
  'inventory-sync/compare',
  'jwks',
  'logs',
  'lost-secret-key',
  'manifest-schemas',
  'telemetry/attacks/**/*',
  'telemetry/{content,frameworks,otlp,reading,recordings}/**/*',
  'telemetry/traces/statements',
  'outbound*',
  'quickstart',
  'read-only-folder',
  'rate-limits/rate-limit',
  'secret-key-rotation',
  'server',
  'start',
  'token-email',
  'unavailable-database',
  'worker-queue',
]);

/** Several processes on one server, and a server that goes away. */
const ON_POSTGRES_ALONE = filesOf(['postgres/**/*']);

const IN_A_THREAD_OF_THEIR_OWN = filesOf([
  // They need modules that no other file has used: they wait for the first thread that these start.
  'telemetry/traces/reading-thread',
  'inventory-sync/answer-thread',
  // It measures turns of the event loop. The garbage of hundreds of files before it would be collected in them.
  'audit-chain/many-events',
]);

const globalSetup = [fileURLToPath(import.meta.resolve('@quartermaster/db/testing/database-setup.ts'))];
const everything = ['test/**/*.test.ts'];

export default defineConfig({
  test: {
    reporters: ['default', 'json'],
    outputFile: { json: 'reports/vitest.json' },
    ...TIME_LIMITS,
    // Each file has its own servers and databases. Files share the OpenAPI document and its schemas, which are slow to create.
    isolate: false,
    sequence: SEQUENCE,
    // Node runs the files as they are, as it does in production: a tenth faster than through vite.
    experimental: { viteModuleRunner: false },
    // Another suite runs at the same time (scripts/suites.ts), and each process loads all modules. The 600 tests of the endpoints on
    // two cores: 35 s of CPU time with one process, 50 s with two, 58 s with three, and about as long a wait. The quick form uses two
    // (package.json), because it takes longer than everything beside it.
    maxWorkers: 1,
    projects: [
      // `npm test`
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: everything,
          exclude: [DEEP, ...ON_POSTGRES_ALONE, ...IN_A_THREAD_OF_THEIR_OWN],
          globalSetup,
        },
      },
      { extends: true, test: { name: 'postgres', include: QUICK_ON_POSTGRES, globalSetup } },
      // `npm run test:deep`
      {
        extends: true,
        test: {
          name: 'deep-sqlite',
          include: [DEEP],
          exclude: [...ON_POSTGRES_ALONE, ...IN_A_THREAD_OF_THEIR_OWN],
          globalSetup,
        },
      },
      { extends: true, test: { name: 'deep-isolated', include: IN_A_THREAD_OF_THEIR_OWN, isolate: true, globalSetup } },
      {
        extends: true,
        test: {
          name: 'deep-postgres',
          include: FULL ? everything : ON_POSTGRES,
          exclude: [...QUICK_ON_POSTGRES, ...ON_SQLITE_ALONE, ...IN_A_THREAD_OF_THEIR_OWN],
          globalSetup,
        },
      },
    ],
  },
});
