import { fileURLToPath } from 'node:url';
import { FULL, SEQUENCE, TIME_LIMITS } from '@quartermaster/db/testing/scale.ts';
import { defineConfig } from 'vitest/config';

/**
 * Suites that run on PostgreSQL too: those that depend on its SQL, locks or transactions, and one success of each operation. Rules that run on top of the same queries are tested on SQLite, an order of magnitude faster. The long form
 * tests everything on both, except what belongs to one of them.
 */
const ON_POSTGRES = [
  // One success of each operation and some requests made from the document; each write with an Idempotency-Key.
  'test/fuzz/*.test.ts',
  'test/idempotency/**/*.test.ts',
  'test/preconditions/entity-tags.test.ts',
  // A write that fails half-way leaves nothing.
  'test/atomic-writes.test.ts',
  // Concurrent writers: one wins, the others get a clear answer, and nothing is lost. Two who take a right from each other at once.
  'test/concurrent-writers.test.ts',
  // Batches of removals; conditions with thousands of places.
  'test/record-retention.test.ts',
  'test/tenant-deletion.test.ts',
  'test/many-memberships.test.ts',
  'test/first-sign-in.test.ts',
  'test/development-users.test.ts',
  'test/signing-keys.test.ts',
  // Several processes, and a server that goes away.
  'test/postgres/**/*.test.ts',
  'test/audit-chain/{forged,random-tampering,remembered,sealing}.test.ts',
  'test/inventory-sync/{last-seen,running}.test.ts',
  // The others count in the memory of their process.
  'test/rate-limits/shared-limits.test.ts',
  'test/server-registration-limit.test.ts',
  // What other connections see, and when: keys that are revoked, accounts that are disabled.
  'test/api-keys.test.ts',
  'test/credential-expiry.test.ts',
  // Counts by partial indexes, written out in SQL.
  'test/endpoints/tenant-usage.test.ts',
  'test/{key-lineage,session-grants}.test.ts',
  // Spans: partitions, aggregation in batches, batches that exceed the parameters of one statement.
  'test/telemetry/traces/{account-share,conflicting,reading,retention,senders,waterfall}.test.ts',
  'test/telemetry/{ingest-logs,unread}.test.ts',
  // Calls that are corrected, and sums of them.
  'test/telemetry/calls/{aggregate-records,aggregate-spans,deleted-providers,exactness,replace-records}.test.ts',
  'test/endpoints/{agents,graph,usage}.test.ts',
  'test/endpoints/{bulk-decisions,console-sessions,credentials,derived-access,observation-inbox,recommendation-lists}.test.ts',
  'test/governance/{cardinality,counting,fair-share,large-families,manifest-names,properties,replay,renaming,statements,whole-loop}.test.ts',
  // Look-ups of providers and items by their names, in one statement for a batch.
  'test/governance/{agent-manifests,blocked-uses,blocks,match-tools,provider-aliases}.test.ts',
  // From one database to another.
  'test/database-move.test.ts',
];

/** Suites without a database, or with a single file. Even the long form runs them only on SQLite. */
const ON_SQLITE_ALONE = [
  'test/admin-key.test.ts',
  'test/api-keys-format.test.ts',
  'test/architecture.test.ts',
  'test/audit-chain/many-events.test.ts',
  'test/backup.test.ts',
  'test/bad-input-*.test.ts',
  'test/bearer.test.ts',
  'test/bootstrap-key.test.ts',
  'test/cached-counts.test.ts',
  'test/client.test.ts',
  'test/config*.test.ts',
  'test/console/pages.test.ts',
  'test/connection-limits.test.ts',
  'test/cursors.test.ts',
  'test/document*.test.ts',
  'test/durability.test.ts',
  'test/http/**/*.test.ts',
  'test/idempotency/killed.test.ts',
  'test/inventory-sync/compare.test.ts',
  'test/jwks.test.ts',
  'test/logs.test.ts',
  'test/lost-secret-key.test.ts',
  'test/manifest-schemas.test.ts',
  'test/telemetry/attacks/**/*.test.ts',
  'test/telemetry/{content,dialects,otlp,recordings}/**/*.test.ts',
  'test/outbound*.test.ts',
  'test/quickstart.test.ts',
  'test/read-only-folder.test.ts',
  'test/rate-limits/rate-limit.test.ts',
  'test/secret-key-rotation.test.ts',
  'test/server.test.ts',
  'test/start.test.ts',
  'test/token-email.test.ts',
  'test/unavailable-database.test.ts',
  'test/worker-queue.test.ts',
];

/** Several processes on one server, and a server that goes away. */
const ON_POSTGRES_ALONE = ['test/postgres/**/*.test.ts'];

const IN_A_THREAD_OF_THEIR_OWN = [
  // They need modules that no other file has used: they wait for the first thread that these start.
  'test/telemetry/traces/reading-thread.test.ts',
  'test/inventory-sync/answer-thread.test.ts',
  // Its clock is not the real one, and the delays of tenants outlive it.
  'test/telemetry/transaction-batches.test.ts',
  // It measures turns of the event loop. The garbage of hundreds of files before it would be collected in them.
  'test/audit-chain/many-events.test.ts',
];

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
    // two cores: 35 s of CPU time with one process, 50 s with two, 58 s with three, and about as long a wait.
    maxWorkers: 1,
    projects: [
      { extends: true, test: { name: 'isolated', include: IN_A_THREAD_OF_THEIR_OWN, isolate: true, globalSetup } },
      {
        extends: true,
        test: {
          name: 'sqlite',
          include: everything,
          exclude: [...ON_POSTGRES_ALONE, ...IN_A_THREAD_OF_THEIR_OWN],
          globalSetup,
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: FULL ? everything : ON_POSTGRES,
          exclude: [...ON_SQLITE_ALONE, ...IN_A_THREAD_OF_THEIR_OWN],
          globalSetup,
        },
      },
    ],
  },
});
