import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { expect, test } from 'vitest';
import { migrate } from '../src/database.ts';
import { findGatewaySession } from '../src/repositories/gateway-sessions.ts';
import { revokeSessionsOfItems } from '../src/repositories/sessions-of-items.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { firstReleaseDatabase, insertRow, later, NOW } from './temporary-database.ts';

const TIME = NOW.toISOString();

const PLACED = { tenant_id: 'acme', sub_tenant_id: '', created_at: TIME, updated_at: TIME };

test('each key gets the key that created it, from the audit events', async () => {
  const db = await firstReleaseDatabase();
  const key = { ...PLACED, kind: 'api_key', owner_type: 'service_account', owner_id: 'bot', scopes: '[]' };
  for (const id of ['key_1', 'key_2', 'key_3']) {
    await insertRow(db, 'credentials', { ...key, id, rotation_count: 0, search_text: id });
  }
  const event = {
    tenant_id: 'acme',
    sub_tenant_id: '',
    created_at: TIME,
    actor_type: 'service_account',
    actor_id: 'bot',
    target_type: 'api_key',
    outcome: 'success',
    changed_fields: '[]',
    count: 1,
    request_id: 'r',
  };
  const made = 'create_service_account_key';
  const rotated = 'rotate_service_account_key';
  await insertRow(db, 'audit_events', { ...event, id: 'evt_1', operation: made, target_id: 'key_1', key_id: 'key_0' });
  // A later rotation of the key itself does not count.
  await insertRow(db, 'audit_events', {
    ...event,
    id: 'evt_2',
    operation: rotated,
    target_id: 'key_1',
    key_id: 'key_9',
  });
  await insertRow(db, 'audit_events', {
    ...event,
    id: 'evt_3',
    operation: rotated,
    target_id: 'key_2',
    key_id: 'key_9',
  });
  await migrate(db);
  const rows = await db.selectFrom('credentials').select(['id', 'created_by_key']).orderBy('id').execute();
  expect(rows).toEqual([
    { id: 'key_1', created_by_key: 'key_0' },
    { id: 'key_2', created_by_key: 'key_9' },
    { id: 'key_3', created_by_key: null },
  ]);
});

test('sessions keep their grants, and are found by a blocked item', async () => {
  const db = await firstReleaseDatabase();
  const gateway = { ...PLACED, id: 'gw_1', name: 'edge', name_key: 'edge', status: 'active', session_ttl_seconds: 600 };
  await insertRow(db, 'gateways', gateway);
  const items = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ kind: 'tool', name: `tool-${index}` }));
  const grant = (providerId: string, count: number) => ({ providerId, providerName: 'Vendor', items: items(count) });
  const model = { providerId: 'prov_3', providerName: 'Vendor', items: [{ kind: 'model', name: 'Vendor/GPT-5' }] };
  const grants = [
    [],
    [grant('prov_1', 2500), grant('prov_2', 3)],
    [model],
    // More than one batch of sessions. Only the first and the last one have a grant that takes several statements.
    ...Array.from({ length: 120 }, () => [grant('prov_2', 3)]),
    [grant('prov_1', 2500)],
  ];
  const ids = grants.map((_, index) => `ses_01kjm${String(index).padStart(21, '0')}`);
  for (const [index, id] of ids.entries()) {
    await insertRow(db, 'gateway_sessions', {
      ...PLACED,
      id,
      gateway_id: 'gw_1',
      subject: 'user:1',
      opened_by: 'user:1',
      metadata: '{}',
      issued_at: TIME,
      expires_at: later(600).toISOString(),
      grants: JSON.stringify(grants[index]),
    });
  }
  await migrate(db);
  for (const [index, id] of ids.entries()) {
    const session = await findGatewaySession(db, EVERYWHERE, 'gw_1', id, NOW);
    expect(session?.grants).toEqual(grants[index]);
    const canonical = createHash('sha256')
      .update(canonicalize(grants[index]) ?? '')
      .digest('hex');
    expect(session?.grantsDigest).toBe(`sha256:${canonical}`);
  }
  const counts = async (table: 'gateway_grants' | 'gateway_grant_items') =>
    (await db.selectFrom(table).selectAll().execute()).length;
  expect([await counts('gateway_grants'), await counts('gateway_grant_items')]).toEqual([3, 2504]);
  const blocked = { providerId: 'prov_3', providerName: 'vendor', items: [{ kind: 'model', name: 'gpt-5' }] } as const;
  // Ids begin with their time.
  expect(await revokeSessionsOfItems(db, EVERYWHERE, blocked, NOW)).toMatchObject([{ id: ids[2] }]);
});
