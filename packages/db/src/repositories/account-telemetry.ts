import type { ServiceAccount } from '@quartermaster/contracts/service-accounts.ts';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement, preparedStatement } from '../prepared-statement.ts';
import type { TenantPlace } from '../tenancy.ts';

/** What an account sent from one instrumentation scope. `readRecords` counts spans and log records that reported a call. */
export type ScopeCount = { scope: string; spans: number; logRecords: number; readRecords: number };

/** The most scopes of an account that are counted separately. */
const MAX_SCOPES = 20;

/** The most unread scopes that are shown. */
const MAX_UNREAD = 10;

/** The sum of all scopes beyond `MAX_SCOPES`. A scope that is really named `*` is stored under another name. */
const OTHER_SCOPES = '*';

type AccountName = Pick<TenantPlace, 'tenantId'> & { accountId: string };

type CountRow = {
  scope: string;
  spans: number;
  log_records: number;
  read_records: number;
};

const addCounts = multiRowStatement(
  (db, rows: readonly CountRow[], { tenantId, accountId, now }: { tenantId: string; accountId: string; now: string }) =>
    db
      .insertInto('account_telemetry')
      .values(
        rows.map((row) => ({
          tenant_id: tenantId,
          service_account_id: accountId,
          scope: row.scope,
          spans: row.spans,
          log_records: row.log_records,
          read_records: row.read_records,
          first_received_at: now,
          last_received_at: now,
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['tenant_id', 'service_account_id', 'scope']).doUpdateSet({
          spans: sql<number>`account_telemetry.spans + excluded.spans`,
          log_records: sql<number>`account_telemetry.log_records + excluded.log_records`,
          read_records: sql<number>`account_telemetry.read_records + excluded.read_records`,
          last_received_at: now,
        }),
      ),
);

/** Adds to the counts of an account. Scopes beyond the limit are counted together. */
export async function addAccountTelemetry(
  db: Database,
  { tenantId, accountId }: AccountName,
  counts: readonly ScopeCount[],
  now: Date,
): Promise<void> {
  const known = await db
    .selectFrom('account_telemetry')
    .select('scope')
    .where('tenant_id', '=', tenantId)
    .where('service_account_id', '=', accountId)
    .execute();
  const scopes = new Set(known.map(({ scope }) => scope));
  const rows = new Map<string, CountRow>();
  // Always in the same order, so that two processes cannot deadlock.
  for (const count of counts.toSorted((a, b) => (a.scope < b.scope ? -1 : 1))) {
    if (scopes.size < MAX_SCOPES) scopes.add(count.scope);
    const scope = scopes.has(count.scope) ? count.scope : OTHER_SCOPES;
    const row = rows.get(scope) ?? { scope, spans: 0, log_records: 0, read_records: 0 };
    row.spans += count.spans;
    row.log_records += count.logRecords;
    row.read_records += count.readRecords;
    rows.set(scope, row);
  }
  await addCounts(db, [...rows.values()], { tenantId, accountId, now: now.toISOString() });
}

/** How many records an account sent, and how many of them report models, tools or agents. */
export async function sumAccountTelemetry(
  db: Database,
  { tenantId, accountId }: AccountName,
): Promise<{ records: number; readRecords: number }> {
  const sums = await db
    .selectFrom('account_telemetry')
    .select(({ fn }) => [
      fn.sum<number>('spans').as('spans'),
      fn.sum<number>('log_records').as('logs'),
      fn.sum<number>('read_records').as('read'),
    ])
    .where('tenant_id', '=', tenantId)
    .where('service_account_id', '=', accountId)
    .executeTakeFirstOrThrow();
  return { records: Number(sums.spans) + Number(sums.logs), readRecords: Number(sums.read) };
}

const rowsOfAccounts = preparedStatement(
  (db, { tenantIds, accountIds }: { tenantIds: readonly string[]; accountIds: readonly string[] }) =>
    db
      .selectFrom('account_telemetry')
      .selectAll()
      .where('tenant_id', 'in', tenantIds)
      .where('service_account_id', 'in', accountIds),
);

/** The telemetry counts of accounts, by `<tenant>\n<account>`. Accounts that sent nothing are left out. */
export async function findAccountTelemetry(
  db: Database,
  accounts: { tenantIds: readonly string[]; accountIds: readonly string[] },
): Promise<Map<string, NonNullable<ServiceAccount['telemetry']>>> {
  const rows = await rowsOfAccounts(db, accounts);
  const byAccount = Map.groupBy(rows, (row) => `${row.tenant_id}\n${row.service_account_id}`);
  return new Map(
    [...byAccount].map(([account, own]) => {
      const unread = own
        .filter((row) => Number(row.read_records) === 0 && row.scope !== OTHER_SCOPES)
        .toSorted((a, b) => Number(b.spans) + Number(b.log_records) - Number(a.spans) - Number(a.log_records));
      const telemetry = {
        lastReceivedAt: own.map((row) => row.last_received_at).reduce((a, b) => (a > b ? a : b)),
        spans: own.reduce((sum, row) => sum + Number(row.spans), 0),
        logRecords: own.reduce((sum, row) => sum + Number(row.log_records), 0),
        unread: unread.slice(0, MAX_UNREAD).map((row) => ({
          scope: row.scope,
          spans: Number(row.spans),
          logRecords: Number(row.log_records),
          since: row.first_received_at,
        })),
      };
      return [account, telemetry];
    }),
  );
}
