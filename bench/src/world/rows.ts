import SqliteDatabase from 'better-sqlite3';
import type { World } from './world.ts';

// Rows by the million, written into the file: through the API they would take hours.

/** A time that moves on by a millisecond a row. */
const TIME = `strftime('%Y-%m-%dT%H:%M:%fZ', 1735689600 + number / 1000.0, 'unixepoch')`;

const COUNTED =
  'with recursive counted (number) as (select 1 union all select number + 1 from counted where number < ?)';

/** Service accounts of the world's tenant, all active. */
export function addServiceAccounts(file: string, { tenantId }: World, rows: number): void {
  filled(file, (db) => {
    db.prepare(`
      ${COUNTED}
      insert into service_accounts (tenant_id, sub_tenant_id, id, name, display_name, description, status,
        platform_administrator, metadata, last_used_at, search_text, created_at, updated_at)
      select ?, '', printf('sa_%026d', number), 'agent-' || number, 'Agent ' || number,
        'Reads invoices and files them.', 'active', 0, '{"team":"payments"}', null,
        printf('sa_%026d', number) || char(10) || 'agent-' || number || char(10) || 'reads invoices and files them.',
        ${TIME}, ${TIME} from counted`).run(rows, tenantId);
  });
}

/** Runtime observations of one provider. */
export function addObservations(file: string, { tenantId, providerId }: World, rows: number): void {
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
  filled(file, (db) => {
    db.prepare(`
      ${COUNTED}
      insert into runtime_observations (tenant_id, sub_tenant_id, id, provider_id, kind, name, name_key, unknown, status,
        occurrences, first_seen_at, last_seen_at, last_trace_id, last_span_id, evidence, risk, inventory_item_id, review,
        drift, created_at, updated_at)
      select ?, '', printf('obs_%026d', number), ?, 'model', 'model-' || number, 'model-' || number, 1, 'open', 12,
        ${TIME}, ${TIME}, printf('%032x', number), printf('%016x', number), ?, ?, null, null, null, ${TIME}, ${TIME}
      from counted`).run(rows, tenantId, providerId, evidence, risk);
    db.prepare('update tenants set observation_count = ? where id = ?').run(rows, tenantId);
  });
}

/** Traces that a tenant keeps no longer, ten spans each. */
export function addOldTraces(file: string, { tenantId }: World, traces: number): void {
  const long = '2025-01-01T00:00:00.000Z';
  const document = JSON.stringify({
    ...{ parentSpanId: null, name: 'chat gpt-5.2', kind: 'client', durationMs: 41 },
    ...{ startTime: '2025-01-01T00:00:00.000000000Z', endTime: '2025-01-01T00:00:00.041000000Z' },
    ...{ status: { code: 'unset', message: null }, scope: { name: 'bench', version: null, attributes: {} } },
    ...{ resource: { 'service.name': 'checkout-assistant' }, attributes: { 'gen_ai.operation.name': 'chat' } },
    ...{ events: [], links: [], serviceName: 'checkout-assistant', genAi: null },
  });
  filled(file, (db) => {
    db.prepare('update tenants set span_retention_days = 30 where id = ?').run(tenantId);
    db.prepare(`
      ${COUNTED}
      insert into traces (tenant_id, sub_tenant_id, trace_id, root_name, service_name, start_time, end_time, span_count,
        error_count, created_at, updated_at)
      select ?, '', printf('%032x', number), 'chat gpt-5.2', 'checkout-assistant', ?, ?, 10, 0, ?, ? from counted
      `).run(traces, tenantId, long, long, long, long);
    db.prepare(`
      ${COUNTED}
      insert into spans (tenant_id, sub_tenant_id, trace_id, span_id, start_time, document, created_at, received_from)
      select ?, '', printf('%032x', (number + 9) / 10), printf('%016x', number), ?, ?, ?, ? from counted
      `).run(traces * 10, tenantId, long, document, long, `service_account:${tenantId}/bench`);
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
function filled(file: string, fill: (db: SqliteDatabase.Database) => void): void {
  const db = new SqliteDatabase(file);
  try {
    // Out of WAL first: all of it would go through the log, and every read of it.
    db.pragma('journal_mode = delete');
    db.pragma('journal_mode = memory');
    db.pragma('synchronous = off');
    db.pragma('foreign_keys = on');
    db.pragma('cache_size = -262144');
    fill(db);
    db.pragma('journal_mode = wal');
  } finally {
    db.close();
  }
}
