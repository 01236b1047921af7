import { setImmediate as breathe } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import type { World } from './world.ts';

// Rows by the million, written into the file: through the API they would take hours.

/** A time that moves on by a millisecond a row. */
const TIME = `strftime('%Y-%m-%dT%H:%M:%fZ', 1735689600 + number / 1000.0, 'unixepoch')`;

/** Rows of one statement: between two of them a signal is heard. */
const ROWS_OF_STATEMENT = 100_000;

/** Numbers from the first parameter to the second. */
const COUNTED =
  'with recursive counted (number) as (select ? union all select number + 1 from counted where number < ?)';

/** Service accounts of the world's tenant, all active. */
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

/** Runtime observations of one provider. */
export async function addObservations(file: string, { tenantId, providerId }: World, rows: number): Promise<void> {
  const evidence = JSON.stringify({
    serviceNames: ['checkout-assistant'],
    serverAddresses: ['api.openai.com'],
    operations: ['chat'],
    accounts: [`service_account:${tenantId}/bench`],
    names: [],
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
  });
}

/** Traces that a tenant keeps no longer, ten spans each. */
export async function addOldTraces(file: string, { tenantId }: World, traces: number): Promise<void> {
  const long = '2025-01-01T00:00:00.000Z';
  const document = JSON.stringify({
    ...{ parentSpanId: null, name: 'chat gpt-5.2', kind: 'client', durationMs: 41 },
    ...{ startTime: '2025-01-01T00:00:00.000000000Z', endTime: '2025-01-01T00:00:00.041000000Z' },
    ...{ status: { code: 'unset', message: null }, scope: { name: 'bench', version: null, attributes: {} } },
    ...{ resource: { 'service.name': 'checkout-assistant' }, attributes: { 'gen_ai.operation.name': 'chat' } },
    ...{ events: [], links: [], serviceName: 'checkout-assistant', genAi: null },
  });
  await filled(file, async (db) => {
    db.prepare('update tenants set span_retention_days = 30 where id = ?').run(tenantId);
    const insertTraces = db.prepare(`
      ${COUNTED}
      insert into traces (tenant_id, sub_tenant_id, trace_id, root_name, service_name, start_time, end_time, span_count,
        error_count, created_at, updated_at)
      select ?, '', printf('%032x', number), 'chat gpt-5.2', 'checkout-assistant', ?, ?, 10, 0, ?, ? from counted
      `);
    const insertSpans = db.prepare(`
      ${COUNTED}
      insert into spans (tenant_id, sub_tenant_id, trace_id, span_id, start_time, document, created_at, received_from)
      select ?, '', printf('%032x', (number + 9) / 10), printf('%016x', number), ?, ?, ?, ? from counted
      `);
    const sender = `service_account:${tenantId}/bench`;
    await inParts(traces, (first, last) => insertTraces.run(first, last, tenantId, long, long, long, long));
    await inParts(traces * 10, (first, last) => insertSpans.run(first, last, tenantId, long, document, long, sender));
  });
}

/** How many rows a table has. @param tenantId of one tenant alone, where it is given */
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

/** Writes with the journal in memory, since nobody else has the file; and leaves it as the API wants it. */
async function filled(file: string, fill: (db: SqliteDatabase.Database) => Promise<void>): Promise<void> {
  const db = new SqliteDatabase(file);
  try {
    // Out of WAL first: all of it would go through the log, and every read of it.
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
  for (let first = 1; first <= rows; first += ROWS_OF_STATEMENT) {
    insert(first, Math.min(first + ROWS_OF_STATEMENT - 1, rows));
    await breathe();
  }
}
