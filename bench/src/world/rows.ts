import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import type { World } from './world.ts';

// Writes millions of rows directly into the file. Through the API that would take hours.

/** A time that advances by a millisecond per row. */
const TIME = `strftime('%Y-%m-%dT%H:%M:%fZ', 1735689600 + number / 1000.0, 'unixepoch')`;

/** Rows of one statement. Signals are handled between two statements. */
const ROWS_PER_STATEMENT = 100_000;

/** Numbers from the first parameter to the second. */
const COUNTED =
  'with recursive counted (number) as (select ? union all select number + 1 from counted where number < ?)';

/** Adds active service accounts to the world's tenant. */
export async function addServiceAccounts(file: string, { tenantId }: World, rows: number): Promise<void> {
  await filled(file, async (db) => {
    const insert = db.prepare(`
      ${COUNTED}
      insert into service_accounts (tenant_id, sub_tenant_id, id, name, display_name, description, status,
        platform_administrator, metadata, last_used_at, search_text, created_at, updated_at)
      select ?, '', printf('sa_%026d', number), 'agent-' || number, 'Agent ' || number,
        'Reads invoices and files them.', 'active', 0, '{"team":"payments"}', null,
        printf('sa_%026d', number) || char(10) || 'agent-' || number || char(10) || 'reads invoices and files them.',
        ${TIME}, ${TIME} from counted`);
    await inParts(rows, (first, last) => insert.run(first, last, tenantId));
  });
}

/** Adds runtime observations of one provider. */
export async function addObservations(file: string, { tenantId, providerId }: World, rows: number): Promise<void> {
  const evidence = JSON.stringify({
    serviceNames: ['checkout-assistant'],
    serverAddresses: ['api.openai.com'],
    operations: ['chat'],
    accounts: [`service_account:${tenantId}/bench`],
    names: [],
    responseModels: [],
    errors: 0,
  });
  const reason = 'No inventory item and no active manifest declares it.';
  const risk = JSON.stringify({ level: 'medium', factors: [{ factor: 'unknown_item', reason }] });
  await filled(file, async (db) => {
    const insert = db.prepare(`
      ${COUNTED}
      insert into runtime_observations (tenant_id, sub_tenant_id, id, provider_id, kind, name, name_key, unknown, status,
        occurrences, first_seen_at, last_seen_at, last_trace_id, last_span_id, evidence, risk, inventory_item_id, review,
        drift, created_at, updated_at)
      select ?, '', printf('obs_%026d', number), ?, 'model', 'model-' || number, 'model-' || number, 1, 'open', 12,
        ${TIME}, ${TIME}, printf('%032x', number), printf('%016x', number), ?, ?, null, null, null, ${TIME}, ${TIME}
      from counted`);
    await inParts(rows, (first, last) => insert.run(first, last, tenantId, providerId, evidence, risk));
    db.prepare('update tenants set observation_count = ? where id = ?').run(rows, tenantId);
    const share = db.prepare('insert or replace into observation_shares values (?, ?, ?, ?)');
    for (const type of ['account', 'sub_tenant']) share.run(tenantId, type, '', rows);
  });
}

/** How many rows a table has. @param tenantId counts only the rows of this tenant */
export function countRows(file: string, table: string, tenantId?: string): number {
  const db = new SqliteDatabase(file, { readonly: true });
  try {
    const count = `select count(*) as counted from ${table}`;
    const row =
      tenantId === undefined
        ? db.prepare<[], { counted: number }>(count).get()
        : db.prepare<[string], { counted: number }>(`${count} where tenant_id = ?`).get(tenantId);
    return row?.counted ?? 0;
  } finally {
    db.close();
  }
}

/** How many spans are stored. This API stores them in blocks, a floor in rows. */
export function countSpans(file: string): number {
  const db = new SqliteDatabase(file, { readonly: true });
  try {
    const sum = (query: string) => db.prepare<[], { spans: number | null }>(query).get()?.spans ?? 0;
    const hasRows = sum(`select count(*) as spans from sqlite_master where name = 'spans'`) === 1;
    const inRows = hasRows ? sum('select count(*) as spans from spans') : 0;
    return sum('select sum(span_count) as spans from span_blocks') + inRows;
  } finally {
    db.close();
  }
}

/** Writes with the journal in memory, because no other process uses the file. Then restores the API's journal mode. */
async function filled(file: string, fill: (db: SqliteDatabase.Database) => Promise<void>): Promise<void> {
  const db = new SqliteDatabase(file);
  try {
    // Leave WAL mode first, because otherwise all rows would be written to the log, too.
    db.pragma('journal_mode = delete');
    db.pragma('journal_mode = memory');
    db.pragma('synchronous = off');
    db.pragma('foreign_keys = on');
    db.pragma('cache_size = -262144');
    await fill(db);
    db.pragma('journal_mode = wal');
  } finally {
    db.close();
  }
}

async function inParts(rows: number, insert: (first: number, last: number) => void): Promise<void> {
  for (let first = 1; first <= rows; first += ROWS_PER_STATEMENT) {
    insert(first, Math.min(first + ROWS_PER_STATEMENT - 1, rows));
    await yieldToEventLoop();
  }
}
