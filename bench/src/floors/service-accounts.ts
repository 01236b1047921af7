import type SqliteDatabase from 'better-sqlite3';
import { keyLookup } from './access.ts';
import type { FloorSettings, Work } from './floor.ts';
import { newId } from './ids.ts';

const INSERT = `
  insert into "service_accounts" ("tenant_id", "sub_tenant_id", "id", "name", "status", "description", "display_name",
    "platform_administrator", "metadata", "last_used_at", "search_text", "created_at", "updated_at")
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning *`;

type Row = Record<'tenant_id' | 'id' | 'name' | 'status' | 'metadata' | 'created_at' | 'updated_at', string> &
  Record<'display_name' | 'description', string | null>;

/** POST /v1/service-accounts (#2): one insert and its commit. */
export function createAccountFloor(db: SqliteDatabase.Database, _settings: FloorSettings): Work {
  const callerOf = keyLookup(db, 'service_accounts:write');
  const insert = db.prepare<unknown[], Row>(INSERT);
  return ({ key, body }) => {
    const caller = callerOf(key);
    if (caller === null) return null;
    const { name, displayName, description } = JSON.parse(body.toString('utf8')) as Record<string, string>;
    const now = new Date();
    const [id, time] = [newId('sa', now), now.toISOString()];
    const search = [id, name, displayName, description].join('\n').normalize('NFKC').toLowerCase();
    const values = [
      caller.tenantId,
      '',
      id,
      name,
      'active',
      description,
      displayName,
      0,
      '{}',
      null,
      search,
      time,
      time,
    ];
    const row = insert.get(...values);
    return row && toServiceAccount(row);
  };
}

function toServiceAccount(row: Row) {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    subTenantId: null,
    name: row.name,
    displayName: row.display_name,
    description: row.description,
    status: row.status,
    platformAdministrator: false,
    metadata: JSON.parse(row.metadata) as unknown,
    lastUsedAt: null,
    keyCount: 0,
    activeKeyCount: 0,
    soonestKeyExpiryAt: null,
    telemetry: null,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    alsoCreated: [],
  };
}
