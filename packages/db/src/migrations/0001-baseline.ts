import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { createAccountTables } from './baseline/accounts.ts';
import { createAuditTables } from './baseline/audit.ts';
import { createGatewayTables } from './baseline/gateways.ts';
import { createManifestTables } from './baseline/manifests.ts';
import { createObservationTables } from './baseline/observations.ts';
import { createProviderTables } from './baseline/providers.ts';
import { createRecordByteCounters } from './baseline/record-bytes.ts';
import { createRequestTables } from './baseline/requests.ts';
import { createTaskTables } from './baseline/tasks.ts';
import { createTelemetryTables } from './baseline/telemetry.ts';
import { createTenantTables } from './baseline/tenants.ts';
import { createUsageTables } from './baseline/usage.ts';
import { createUserTables } from './baseline/users.ts';

/**
 * The schema of the first release, on SQLite and PostgreSQL. The files in `baseline/` say why each table and index exists;
 * `../tables/` says what each column contains.
 *
 * From the first release on it is frozen, and every change is a migration of its own.
 */
export const baseline: Migration = { up };

async function up(db: Kysely<unknown>): Promise<void> {
  // PostgreSQL checks foreign keys when a table is created, so each area comes after the areas that it refers to.
  await createUserTables(db);
  await createTenantTables(db);
  await createAccountTables(db);
  await createProviderTables(db);
  await createObservationTables(db);
  await createManifestTables(db);
  await createGatewayTables(db);
  await createTaskTables(db);
  await createTelemetryTables(db);
  await createUsageTables(db);
  await createAuditTables(db);
  await createRequestTables(db);
  // Last, because it creates triggers on tables of other areas.
  await createRecordByteCounters(db);
}
