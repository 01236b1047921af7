import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type SqliteDatabase from 'better-sqlite3';
import { keyLookup } from './access.ts';
import type { FloorSettings, Work } from './floor.ts';
import { wholeTenant } from '@quartermaster/db/tenancy.ts';

const LIMIT = 25;
const TAG_BYTES = 16;

const LIST = `
  select * from "providers" where ("tenant_id" = ?) and "status" <> ? and 1 = 1
  order by "created_at" desc, "id" desc limit ?`;

type Row = Record<
  | 'id'
  | 'tenant_id'
  | 'sub_tenant_id'
  | 'name'
  | 'kind'
  | 'status'
  | 'health'
  | 'aliases'
  | 'metadata'
  | 'new_items'
  | 'headers'
  | 'created_at'
  | 'updated_at',
  string
> &
  Record<
    'display_name' | 'description' | 'base_url' | 'health_reason' | 'unhealthy_since' | 'inventory_synced_at' | 'mcp',
    string | null
  > & {
    sync_interval_seconds: number | null;
  };

/** GET /v1/providers (#18): the first page. */
export function listProvidersFloor(db: SqliteDatabase.Database, settings: FloorSettings): Work {
  // Created once. Given a plain key, Node would create this object for each HMAC, which costs five times the digest.
  const cursorKey = createSecretKey(settings.cursorKey);
  const callerOf = keyLookup(db, 'providers:read');
  const list = db.prepare<[string, string, number], Row>(LIST);
  return ({ key }) => {
    const caller = callerOf(key);
    if (caller === null) return null;
    const rows = list.all(caller.tenantId, 'deleted', LIMIT + 1);
    const shown = rows.slice(0, LIMIT);
    const last = shown.at(-1);
    const nextCursor = rows.length > LIMIT && last ? cursorOf(cursorKey, last, caller.tenantId) : null;
    return { items: shown.map(toProvider), nextCursor };
  };
}

/** A cursor is bound to the query and the caller. */
function cursorOf(key: KeyObject, last: Row, tenantId: string): string {
  const scope = wholeTenant(tenantId);
  const binding = JSON.stringify(['list_providers', null, [['sort', 'created_at']], scope, scope]);
  const payload = Buffer.from(JSON.stringify([last.created_at, last.id]));
  const tag = createHmac('sha256', key).update(payload).update('\0').update(binding).digest().subarray(0, TAG_BYTES);
  return Buffer.concat([tag, payload]).toString('base64url');
}

function toProvider(row: Row) {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    subTenantId: row.sub_tenant_id === '' ? null : row.sub_tenant_id,
    name: row.name,
    aliases: JSON.parse(row.aliases) as unknown,
    displayName: row.display_name,
    description: row.description,
    kind: row.kind,
    baseUrl: row.base_url,
    status: row.status,
    health: row.health,
    healthReason: row.health_reason,
    unhealthySince: row.unhealthy_since,
    inventorySyncedAt: row.inventory_synced_at,
    syncIntervalSeconds: row.sync_interval_seconds,
    newItems: row.new_items,
    headers: JSON.parse(row.headers) as unknown,
    mcp: row.mcp === null ? null : (JSON.parse(row.mcp) as unknown),
    metadata: JSON.parse(row.metadata) as unknown,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
