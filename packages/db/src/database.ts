import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { isPostgresUrl, sqlitePath } from './database-url.ts';
import { isPostgres, postgresDialect } from './dialects/postgres.ts';
import { refuseTransactionPooling } from './dialects/postgres-pooling.ts';
import { sqliteDialect } from './dialects/sqlite.ts';
import { DatabaseUnavailableError, DatabaseUnfitError, SerializationFailureError } from './errors.ts';
import { initial } from './migrations/0001-initial.ts';
import { governanceLoop } from './migrations/0002-governance-loop.ts';
import { postgres } from './migrations/0003-postgres.ts';
import { idempotencyAndRateLimits } from './migrations/0004-idempotency-rate-limits.ts';
import { auditChain } from './migrations/0005-audit-chain.ts';
import { spanPartitions } from './migrations/0006-span-partitions.ts';
import { placeIndexes } from './migrations/0007-place-indexes.ts';
import { tracePlaceIndex } from './migrations/0008-trace-place-index.ts';
import { foldedTenantIds } from './migrations/0009-folded-tenant-ids.ts';
import { membershipIndexes } from './migrations/0010-membership-indexes.ts';
import { lineage } from './migrations/0011-lineage.ts';
import { gatewayGrants } from './migrations/0012-gateway-grants.ts';
import { evidence } from './migrations/0013-evidence.ts';
import { retention } from './migrations/0015-retention.ts';
import { unusedTenantIndex } from './migrations/0017-unused-tenant-index.ts';
import { tenantLimits } from './migrations/0019-tenant-limits.ts';
import { durableMarks } from './migrations/0020-durable-marks.ts';
import { spanBlocks } from './migrations/0021-span-blocks.ts';
import { usage } from './migrations/0023-usage.ts';
import { telemetryCalls } from './migrations/0024-telemetry-calls.ts';
import { providerAliases } from './migrations/0025-provider-aliases.ts';
import { nameFamilies } from './migrations/0026-name-families.ts';
import { accountTelemetry } from './migrations/0027-account-telemetry.ts';
import { approvedRecommendations } from './migrations/0029-approved-recommendations.ts';
import { fairShares } from './migrations/0030-fair-shares.ts';
import { tracePlaceOrder } from './migrations/0031-trace-place-order.ts';
import { consoleSessions } from './migrations/0032-console-sessions.ts';
import { recommendationLists } from './migrations/0033-recommendation-lists.ts';
import { consoleSessionClaims } from './migrations/0034-console-session-claims.ts';
import { accountBytes } from './migrations/0035-account-bytes.ts';
import { auditDecision } from './migrations/0036-audit-decision.ts';
import { expiringCredentials } from './migrations/0037-expiring-credentials.ts';
import { observationEnvironments } from './migrations/0038-observation-environments.ts';
import { listedItems } from './migrations/0039-listed-items.ts';
import { recordBytes } from './migrations/0040-record-bytes.ts';
import { countedAnswers } from './migrations/0041-counted-answers.ts';
import { callsOfRecords } from './migrations/0042-calls-of-records.ts';
import { observationAccounts } from './migrations/0043-observation-accounts.ts';
import { callsOfSenders } from './migrations/0044-calls-of-senders.ts';
import { deletedTenants } from './migrations/0045-deleted-tenants.ts';
import { hostsWithoutDot } from './migrations/0046-hosts-without-dot.ts';
import { linksOfObservations } from './migrations/0047-links-of-observations.ts';
import { seriesOfNames } from './migrations/0048-series-of-names.ts';
import { moveSpansToBlocks } from './spans-to-blocks.ts';
import { findSqliteTable, hasTable, listAppliedMigrations } from './applied-migrations.ts';
import { TABLE_NAMES } from './stored-tables.ts';
import type { Tables } from './tables.ts';

/** A database, or a transaction on it. Every repository function takes either. */
export type Database = Kysely<Tables>;

/** The migrations in their order. Append only: a merged migration is never edited. */
export const MIGRATIONS = {
  '0001-initial': initial,
  '0002-governance-loop': governanceLoop,
  '0003-postgres': postgres,
  '0004-idempotency-rate-limits': idempotencyAndRateLimits,
  '0005-audit-chain': auditChain,
  '0006-span-partitions': spanPartitions,
  '0007-place-indexes': placeIndexes,
  '0008-trace-place-index': tracePlaceIndex,
  '0009-folded-tenant-ids': foldedTenantIds,
  '0010-membership-indexes': membershipIndexes,
  '0011-lineage': lineage,
  '0012-gateway-grants': gatewayGrants,
  '0013-evidence': evidence,
  '0015-retention': retention,
  '0017-unused-tenant-index': unusedTenantIndex,
  '0019-tenant-limits': tenantLimits,
  '0020-durable-marks': durableMarks,
  '0021-span-blocks': spanBlocks,
  '0023-usage': usage,
  '0024-telemetry-calls': telemetryCalls,
  '0025-provider-aliases': providerAliases,
  '0026-name-families': nameFamilies,
  '0027-account-telemetry': accountTelemetry,
  '0029-approved-recommendations': approvedRecommendations,
  '0030-fair-shares': fairShares,
  '0031-trace-place-order': tracePlaceOrder,
  '0032-console-sessions': consoleSessions,
  '0033-recommendation-lists': recommendationLists,
  '0034-console-session-claims': consoleSessionClaims,
  '0035-account-bytes': accountBytes,
  '0036-audit-decision': auditDecision,
  '0037-expiring-credentials': expiringCredentials,
  '0038-observation-environments': observationEnvironments,
  '0039-listed-items': listedItems,
  '0040-record-bytes': recordBytes,
  '0041-counted-answers': countedAnswers,
  '0042-calls-of-records': callsOfRecords,
  '0043-observation-accounts': observationAccounts,
  '0044-calls-of-senders': callsOfSenders,
  '0045-deleted-tenants': deletedTenants,
  '0046-hosts-without-dot': hostsWithoutDot,
  '0047-links-of-observations': linksOfObservations,
  '0048-series-of-names': seriesOfNames,
};

/** The default size of a process's pool of Postgres connections. */
const POOL_SIZE = 10;

/** How often migrations are tried that deadlock with writes of other processes. */
const MIGRATION_ATTEMPTS = 10;

/**
 * Opens a database.
 *
 * @param url `sqlite:<path>` or `postgres://...`. A missing SQLite file and its folder are created, but no folder above it.
 * @param root the folder that a relative path is relative to
 * @throws {DatabaseUnavailableError} if the folder cannot be created
 */
export async function openDatabase(url: string, root: string, { poolSize = POOL_SIZE } = {}): Promise<Database> {
  if (isPostgresUrl(url)) return new Kysely<Tables>({ dialect: postgresDialect({ url, poolSize }) });
  const path = sqlitePath(url, root);
  if (path === null) throw new Error('DATABASE_URL should be sqlite:<path> or postgres://...');
  await makeFolder(dirname(path));
  return new Kysely<Tables>({ dialect: sqliteDialect(path) });
}

/**
 * Creates one folder, not its parents: a mistyped path would be created as well, and in some file systems a recursive mkdir of
 * Node never returns.
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    // If the path exists but is not a folder, opening the file fails.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
      throw new DatabaseUnavailableError({ cause: error });
    }
  }
}

/**
 * Brings the schema up to date. Each migration is atomic. If several processes start at once, one migrates and the others
 * wait. Spans of an earlier version are moved into blocks, which may take minutes.
 *
 * @param onProgress receives messages about the progress of a long migration
 * @throws {DatabaseUnfitError} if the database holds foreign tables or a newer schema, if the role lacks permissions, or behind
 *   a connection pooler in transaction mode
 */
export async function migrate(db: Database, onProgress: (text: string) => void = () => {}): Promise<void> {
  if (isPostgres(db)) await refuseTransactionPooling(db);
  // Migrations are never reverted. If all are applied, neither the lock nor the migrator's own checks are needed.
  const names = await listAppliedMigrations(db);
  if (names.join() === Object.keys(MIGRATIONS).join()) return moveSpansToBlocks(db, onProgress);
  await refuseUnknownSchema(db, names);
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  let { error, results } = await migrator.migrateToLatest();
  // Processes of the earlier release lock the same tables in another order. Nothing of a failed attempt was committed.
  for (let attempt = 2; error instanceof SerializationFailureError && attempt <= MIGRATION_ATTEMPTS; attempt += 1) {
    ({ error, results } = await migrator.migrateToLatest());
  }
  const failed = results?.find((result) => result.status === 'Error');
  if (error instanceof DatabaseUnavailableError || error instanceof DatabaseUnfitError) throw error;
  if (error !== undefined) throw new Error(`migration ${failed?.migrationName ?? ''} failed`, { cause: error });
  await moveSpansToBlocks(db, onProgress);
}

/**
 * Checks the schema without migrating.
 *
 * @throws {DatabaseUnfitError} if the schema is not that of this version
 */
export async function requireSchema(db: Database): Promise<void> {
  const names = await listAppliedMigrations(db);
  await refuseUnknownSchema(db, names);
  const wanted = Object.keys(MIGRATIONS);
  if (names.join() === wanted.join()) {
    if (!(await hasTable(db, 'spans'))) return;
    throw new DatabaseUnfitError(
      'has spans that are not moved into blocks yet: start the server of this version on it once',
    );
  }
  const versions = `the schema ${names.at(-1) ?? 'none'}, this version has ${wanted.at(-1)}`;
  throw new DatabaseUnfitError(`has ${versions}: start the server of this version on it once`);
}

/** Refuses a database with tables of another application, or with the schema of a newer version. */
async function refuseUnknownSchema(db: Database, names: readonly string[]): Promise<void> {
  const unknown = names.find((name) => !Object.hasOwn(MIGRATIONS, name));
  if (unknown !== undefined) {
    throw new DatabaseUnfitError(`has the migration ${unknown}, which this version does not know: start a newer one`);
  }
  if (names.length > 0) return;
  const table = await findForeignTable(db);
  // Another process may have migrated in the meantime.
  if (table === undefined || (await listAppliedMigrations(db)).length > 0) return;
  throw new DatabaseUnfitError(`has a table ${table} of another application: use an empty database`);
}

/**
 * A table of another application in a database without our migrations. In PostgreSQL only a table with the name of one of ours,
 * because extensions have tables, too. A SQLite file belongs to one program.
 */
async function findForeignTable(db: Database): Promise<string | undefined> {
  if (!isPostgres(db)) return findSqliteTable(db);
  for (const table of TABLE_NAMES) if (await hasTable(db, table)) return table;
  return undefined;
}
