import type { ServiceAccount } from '@quartermaster/contracts/service-accounts.ts';
import {
  type KeyTelemetry,
  MAX_PROBLEMS,
  MAX_TELEMETRY_KEYS,
  type TelemetryProblemReason,
} from '@quartermaster/contracts/telemetry-health.ts';
import { type Selectable, sql } from 'kysely';
import type { Database } from '../database.ts';
import { multiRowStatement, preparedStatement } from '../prepared-statement.ts';
import type { Tables } from '../tables.ts';
import type { TenantPlace } from '../tenancy.ts';

/** What an account sent from one instrumentation scope. `readRecords` counts spans and log records that reported a call. */
export type ScopeCount = { scope: string; spans: number; logRecords: number; readRecords: number };

/** Requests or records of an account that were refused or dropped for one reason. */
export type ProblemCount = {
  reason: TelemetryProblemReason;
  requests: number;
  records: number;
  /** What the last answer said. */
  detail: string | null;
};

/** The counts of one API key of an account. */
export type KeyCounts = { scopes: readonly ScopeCount[]; problems: readonly ProblemCount[] };

/** A problem without the words that say how to fix it. */
export type StoredKeyTelemetry = Omit<KeyTelemetry, 'problems' | 'fix'> & {
  problems: Omit<KeyTelemetry['problems'][number], 'fix'>[];
};

/** The most scopes of a key that are counted separately. */
const MAX_SCOPES = 20;

/** The most unread scopes that are shown. */
const MAX_UNREAD = 10;

/** The sum of all scopes beyond `MAX_SCOPES`. A scope that is really named `*` is stored under another name. */
const OTHER_SCOPES = '*';

/** The sum of the keys that are not counted separately: those beyond the limit, the keys that sent longest ago. */
const OTHER_KEYS = '*';

type AccountName = Pick<TenantPlace, 'tenantId'> & { accountId: string };

type Row = Selectable<Tables['account_telemetry']>;

const addCounts = multiRowStatement((db, rows: readonly Row[], _shared: object) =>
  db
    .insertInto('account_telemetry')
    .values(
      rows.map((row) => ({
        tenant_id: row.tenant_id,
        service_account_id: row.service_account_id,
        key_id: row.key_id,
        problem: row.problem,
        scope: row.scope,
        requests: row.requests,
        spans: row.spans,
        log_records: row.log_records,
        read_records: row.read_records,
        detail: row.detail,
        first_received_at: row.first_received_at,
        last_received_at: row.last_received_at,
        last_read_at: row.last_read_at,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'service_account_id', 'key_id', 'problem', 'scope']).doUpdateSet({
        requests: sql<number>`account_telemetry.requests + excluded.requests`,
        spans: sql<number>`account_telemetry.spans + excluded.spans`,
        log_records: sql<number>`account_telemetry.log_records + excluded.log_records`,
        read_records: sql<number>`account_telemetry.read_records + excluded.read_records`,
        detail: sql<string | null>`excluded.detail`,
        last_received_at: sql<string>`excluded.last_received_at`,
        last_read_at: sql<string | null>`coalesce(excluded.last_read_at, account_telemetry.last_read_at)`,
      }),
    ),
);

/** Adds to the counts of an API key. Scopes beyond the limit are counted together, and so are the keys that sent longest ago. */
export async function addAccountTelemetry(
  db: Database,
  { tenantId, accountId, keyId: sentWith }: AccountName & { keyId: string },
  counts: KeyCounts,
  now: Date,
): Promise<void> {
  const known = await db
    .selectFrom('account_telemetry')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('service_account_id', '=', accountId)
    .execute();
  const keyId = takesNoPlace(counts) && isBeyondLimit(known, sentWith) ? OTHER_KEYS : sentWith;
  const time = now.toISOString();
  const empty = {
    tenant_id: tenantId,
    service_account_id: accountId,
    key_id: keyId,
    problem: '',
    scope: '',
    requests: 0,
    spans: 0,
    log_records: 0,
    read_records: 0,
    detail: null,
    first_received_at: time,
    last_received_at: time,
    last_read_at: null,
  };
  const rows: Row[] = [
    ...counts.scopes.map(({ scope, spans, logRecords, readRecords }) => ({
      ...empty,
      scope,
      spans,
      log_records: logRecords,
      read_records: readRecords,
      last_read_at: readRecords > 0 ? time : null,
    })),
    ...counts.problems.map(({ reason, requests, records, detail }) => ({
      ...empty,
      problem: reason,
      requests,
      spans: records,
      detail,
    })),
  ];
  const former = rowsOfFormerKey(known, keyId);
  const [first] = former;
  if (first !== undefined) {
    await db
      .deleteFrom('account_telemetry')
      .where('tenant_id', '=', tenantId)
      .where('service_account_id', '=', accountId)
      .where('key_id', '=', first.key_id)
      .execute();
  }
  const moved = former.map((row) => ({ ...row, key_id: OTHER_KEYS }));
  await addCounts(db, [...merged(moved, known, OTHER_KEYS), ...merged(rows, known, keyId)], {});
}

/** Anybody who knows the id of a key can send it with a wrong secret, so that alone takes no place from another key. */
const UNPROVEN: TelemetryProblemReason = 'key_secret_wrong';

function takesNoPlace({ scopes, problems }: KeyCounts): boolean {
  return scopes.length === 0 && problems.every(({ reason }) => reason === UNPROVEN);
}

function rowsByKey(known: readonly Row[]): Map<string, Row[]> {
  return Map.groupBy(
    known.filter((row) => row.key_id !== OTHER_KEYS),
    (row) => row.key_id,
  );
}

/** Whether `keyId` is a new key, and the limit of keys is reached. */
function isBeyondLimit(known: readonly Row[], keyId: string): boolean {
  const byKey = rowsByKey(known);
  return !byKey.has(keyId) && byKey.size >= MAX_TELEMETRY_KEYS;
}

/** The rows of the key that sent longest ago, if a new key is beyond the limit. */
function rowsOfFormerKey(known: readonly Row[], keyId: string): Row[] {
  if (keyId === OTHER_KEYS || !isBeyondLimit(known, keyId)) return [];
  const oldest = [...rowsByKey(known).values()].toSorted((a, b) => (lastReceived(a) < lastReceived(b) ? -1 : 1));
  return oldest[0] ?? [];
}

function lastReceived(rows: readonly Row[]): string {
  return rows
    .filter(({ problem }) => problem !== UNPROVEN)
    .map((row) => row.last_received_at)
    .reduce((a, b) => (a > b ? a : b), '');
}

/** One row for each problem and scope, with at most {@link MAX_SCOPES} scopes. In a fixed order, to avoid deadlocks. */
function merged(rows: readonly Row[], known: readonly Row[], keyId: string): Row[] {
  const scopes = new Set(known.filter((row) => row.key_id === keyId && row.problem === '').map(({ scope }) => scope));
  const sums = new Map<string, Row>();
  for (const row of rows.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))) {
    if (row.problem === '' && scopes.size < MAX_SCOPES) scopes.add(row.scope);
    const scope = row.problem !== '' || scopes.has(row.scope) ? row.scope : OTHER_SCOPES;
    const name = orderOf({ ...row, scope });
    const sum = sums.get(name);
    if (sum === undefined) {
      sums.set(name, { ...row, scope });
      continue;
    }
    sum.requests = Number(sum.requests) + Number(row.requests);
    sum.spans = Number(sum.spans) + Number(row.spans);
    sum.log_records = Number(sum.log_records) + Number(row.log_records);
    sum.read_records = Number(sum.read_records) + Number(row.read_records);
    sum.last_read_at ??= row.last_read_at;
  }
  return [...sums.values()];
}

function orderOf({ problem, scope }: Pick<Row, 'problem' | 'scope'>): string {
  return `${problem}\n${scope}`;
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
    .where('problem', '=', '')
    .executeTakeFirstOrThrow();
  return { records: Number(sums.spans) + Number(sums.logs), readRecords: Number(sums.read) };
}

type Accounts = { tenantIds: readonly string[]; accountIds: readonly string[] };

const rowsOfAccounts = preparedStatement((db, { tenantIds, accountIds }: Accounts) =>
  db
    .selectFrom('account_telemetry')
    .selectAll()
    .where('tenant_id', 'in', tenantIds)
    .where('service_account_id', 'in', accountIds),
);

async function rowsByAccount(db: Database, accounts: Accounts): Promise<Map<string, Row[]>> {
  if (accounts.accountIds.length === 0) return new Map();
  const rows = await rowsOfAccounts(db, accounts);
  return Map.groupBy(rows, (row) => `${row.tenant_id}\n${row.service_account_id}`);
}

/** The telemetry counts of accounts, by `<tenant>\n<account>`. Accounts that sent nothing are left out. */
export async function findAccountTelemetry(
  db: Database,
  accounts: Accounts,
): Promise<Map<string, NonNullable<ServiceAccount['telemetry']>>> {
  const byAccount = await rowsByAccount(db, accounts);
  const found = new Map<string, NonNullable<ServiceAccount['telemetry']>>();
  for (const [account, rows] of byAccount) {
    const received = rows.filter(({ problem }) => problem === '');
    if (received.length === 0) continue;
    found.set(account, {
      lastReceivedAt: lastReceived(received),
      ...recordsOf(received),
      unread: unreadOf(received).map(({ lastReceivedAt: _last, ...scope }) => scope),
    });
  }
  return found;
}

/** The telemetry of accounts by API key, by `<tenant>\n<account>`. The key that sent last comes first. */
export async function findKeyTelemetry(db: Database, accounts: Accounts): Promise<Map<string, StoredKeyTelemetry[]>> {
  const byAccount = await rowsByAccount(db, accounts);
  return new Map(
    [...byAccount].map(([account, rows]) => {
      const keys = [...Map.groupBy(rows, ({ key_id }) => key_id)].map(([keyId, own]) => keyTelemetry(keyId, own));
      return [account, keys.toSorted((a, b) => (lastOf(a) > lastOf(b) ? -1 : 1))];
    }),
  );
}

function keyTelemetry(keyId: string, rows: readonly Row[]): StoredKeyTelemetry {
  const received = rows.filter(({ problem }) => problem === '');
  const understood = received.reduce((sum, row) => sum + Number(row.read_records), 0);
  const records = recordsOf(received);
  const problems = rows
    .filter(({ problem }) => problem !== '')
    .toSorted((a, b) => (a.last_received_at > b.last_received_at ? -1 : 1));
  return {
    keyId: keyId === OTHER_KEYS ? null : keyId,
    ...records,
    understood,
    notUnderstood: records.spans + records.logRecords - understood,
    lastReceivedAt: lastReceived(received) || null,
    lastUnderstoodAt: received.map((row) => row.last_read_at).reduce((a, b) => ((a ?? '') > (b ?? '') ? a : b), null),
    unread: unreadOf(received),
    problems: problems.slice(0, MAX_PROBLEMS).map((row) => ({
      reason: row.problem as TelemetryProblemReason,
      requests: Number(row.requests),
      records: Number(row.spans),
      detail: row.detail,
      since: row.first_received_at,
      lastAt: row.last_received_at,
    })),
  };
}

function lastOf({ lastReceivedAt, problems }: StoredKeyTelemetry): string {
  const [problem] = problems;
  return [lastReceivedAt ?? '', problem?.lastAt ?? ''].reduce((a, b) => (a > b ? a : b));
}

function recordsOf(rows: readonly Row[]): { spans: number; logRecords: number } {
  return {
    spans: rows.reduce((sum, row) => sum + Number(row.spans), 0),
    logRecords: rows.reduce((sum, row) => sum + Number(row.log_records), 0),
  };
}

/** The scopes of which nothing was understood, busiest first. */
function unreadOf(rows: readonly Row[]): KeyTelemetry['unread'] {
  return [...Map.groupBy(rows, ({ scope }) => scope)]
    .filter(([scope, scopeRows]) => scope !== OTHER_SCOPES && scopeRows.every((row) => Number(row.read_records) === 0))
    .map(([scope, scopeRows]) => ({
      scope,
      ...recordsOf(scopeRows),
      since: scopeRows.map((row) => row.first_received_at).reduce((a, b) => (a < b ? a : b)),
      lastReceivedAt: lastReceived(scopeRows),
    }))
    .toSorted((a, b) => b.spans + b.logRecords - a.spans - a.logRecords)
    .slice(0, MAX_UNREAD);
}
