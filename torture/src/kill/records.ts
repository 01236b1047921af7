import type { Database } from '@quartermaster/db/database.ts';
import { storedSpansOf } from './stored-spans.ts';

/** A record in the database, under the name that its writer gave it. */
export type Found = { id: string; state: string };

/** All records of a tenant that writers create, with the names and states that the ledger uses. */
export async function recordsOf(db: Database, tenantId: string): Promise<Map<string, Found>> {
  const found = new Map<string, Found>();
  const accounts = db.selectFrom('service_accounts').select(['id', 'status', 'display_name']);
  for (const row of await accounts.where('tenant_id', '=', tenantId).execute()) {
    found.set(`account/${row.id}`, { id: row.id, state: `${row.status}:${row.display_name ?? ''}` });
  }
  const providers = db.selectFrom('providers').select(['id', 'name', 'display_name']);
  for (const row of await providers.where('tenant_id', '=', tenantId).execute()) {
    found.set(`provider/${row.name}`, { id: row.id, state: row.display_name ?? '' });
  }
  const keys = db.selectFrom('credentials').select(['id', 'name', 'rotation_count', 'revoked_at']);
  for (const row of await keys.where('tenant_id', '=', tenantId).where('name', 'is not', null).execute()) {
    found.set(`key/${row.name}#${row.rotation_count}`, {
      id: row.id,
      state: row.revoked_at === null ? 'active' : 'revoked',
    });
  }
  const sessions = db.selectFrom('gateway_sessions').select(['id', 'metadata', 'revoked_at']);
  for (const row of await sessions.where('tenant_id', '=', tenantId).execute()) {
    const { tag } = JSON.parse(row.metadata) as { tag: string };
    found.set(`session/${tag}`, { id: row.id, state: row.revoked_at === null ? 'active' : 'revoked' });
  }
  const items = db.selectFrom('inventory_items').select(['id', 'name', 'status']);
  for (const row of await items.where('tenant_id', '=', tenantId).execute()) {
    found.set(`item/${row.name}`, { id: row.id, state: row.status });
  }
  const reviewed = db.selectFrom('runtime_observations').select(['id', 'name', 'review']);
  for (const row of await reviewed.where('tenant_id', '=', tenantId).where('review', 'is not', null).execute()) {
    const { decision } = JSON.parse(row.review ?? '{}') as { decision: string };
    found.set(`review/${row.name}`, { id: row.id, state: decision });
  }
  const recommendations = db.selectFrom('recommendations').select(['id', 'status']);
  for (const row of await recommendations.where('tenant_id', '=', tenantId).execute()) {
    found.set(`recommendation/${row.id}`, { id: row.id, state: row.status });
  }
  const spans = Map.groupBy(await storedSpansOf(db, tenantId), ({ traceId }) => traceId);
  for (const [id, ofTrace] of spans) found.set(`trace/${id}`, { id, state: String(ofTrace.length) });
  return found;
}
