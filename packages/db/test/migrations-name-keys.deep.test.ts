import { expect, test } from 'vitest';
import { type Database, migrate } from '../src/database.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { findInventoryItemByKey } from '../src/repositories/inventory.ts';
import { manifestDeclarations } from '../src/repositories/manifest-declarations.ts';
import { countObservations } from '../src/repositories/observation-counts.ts';
import { findObservation, findObservationOfSubject } from '../src/repositories/runtime-observations.ts';
import { EVERYWHERE } from '../src/tenancy.ts';
import { firstReleaseDatabase, insertRow, insertRows, NOW, type Values } from './temporary-database.ts';

const ACME = { tenantId: 'acme', subTenantId: null };
const OPENAI = { id: 'prov_openai', name: 'OpenAI' };
/** Rows of one batch of the migration. */
const BATCH = 500;

function at(seconds: number): string {
  return new Date(NOW.getTime() + seconds * 1000).toISOString();
}

const PLACED = { tenant_id: 'acme', sub_tenant_id: '' };
const TIMES = { created_at: at(0), updated_at: at(0) };

async function firstRelease(): Promise<Database> {
  const db = await firstReleaseDatabase();
  const provider = { ...PLACED, ...TIMES, kind: 'llm', status: 'active', health: 'unknown', metadata: '{}' };
  await insertRow(db, 'providers', { ...provider, ...OPENAI, name_key: 'openai' });
  await insertRow(db, 'providers', { ...provider, id: 'prov_google', name: 'gcp.gemini', name_key: 'gcp.gemini' });
  return db;
}

const item = (db: Database, id: string, name: string, status: string, more: Values = {}) =>
  insertRow(db, 'inventory_items', itemRow(id, name, status, more));

function itemRow(id: string, name: string, status: string, more: Values = {}): Values {
  return {
    ...PLACED,
    ...TIMES,
    id,
    provider_id: OPENAI.id,
    kind: 'model',
    name,
    status,
    source: 'manual',
    attributes: '{}',
    first_seen_at: at(0),
    last_seen_at: at(0),
    ...more,
  };
}

const review = (decision: string, seconds: number) =>
  JSON.stringify({ decision, note: null, reviewedBy: 'user:usr_1', reviewedAt: at(seconds) });

const observation = (db: Database, id: string, name: string, more: Values = {}) =>
  insertRow(db, 'runtime_observations', {
    ...PLACED,
    ...TIMES,
    id,
    provider_id: OPENAI.id,
    kind: 'model',
    name,
    unknown: 1,
    status: 'open',
    occurrences: 1,
    first_seen_at: at(0),
    last_seen_at: at(0),
    last_trace_id: 't',
    last_span_id: 's',
    evidence: '{"serviceNames":["a"],"serverAddresses":[],"operations":[],"accounts":[],"errors":1}',
    risk: '{"level":"medium","factors":[]}',
    ...more,
  });

async function recommendation(db: Database, id: string, name: string, rests: string[], itemId: string | null = null) {
  const change = { target: { type: 'inventory_item', id: itemId }, before: null, after: { kind: 'model', name } };
  await insertRow(db, 'recommendations', {
    ...PLACED,
    ...TIMES,
    id,
    provider_id: OPENAI.id,
    kind: 'register_item',
    status: 'open',
    subject: `model:${name}`,
    reason: 'r',
    change: JSON.stringify(change),
  });
  for (const observation_id of rests) {
    await insertRow(db, 'recommendation_observations', { tenant_id: 'acme', recommendation_id: id, observation_id });
  }
}

const itemOf = (db: Database, name: string) => {
  const key = { providerId: OPENAI.id, kind: 'model', nameKey: nameKey('model', name, OPENAI.name) } as const;
  return findInventoryItemByKey(db, EVERYWHERE, key);
};
const observationOf = (db: Database, name: string) => {
  const key = { providerId: OPENAI.id, kind: 'model', nameKey: nameKey('model', name, OPENAI.name) } as const;
  return findObservationOfSubject(db, ACME, key);
};

async function recommendations(db: Database) {
  const rows = await db.selectFrom('recommendations').select(['id', 'subject', 'status']).orderBy('id').execute();
  const links = await db.selectFrom('recommendation_observations').selectAll().orderBy('observation_id').execute();
  const rests = (id: string) => links.filter((link) => link.recommendation_id === id);
  return rows.map(({ id, subject, status }) => [id, subject, status, ...rests(id).map((link) => link.observation_id)]);
}

test('a model that was blocked with its provider as prefix, or with letters beyond ASCII, is blocked in every spelling', async () => {
  const db = await firstRelease();
  await item(db, 'inv_1', 'openai/gpt-5', 'blocked');
  await item(db, 'inv_2', 'Ä', 'blocked');
  await item(db, 'inv_3', 'OPENAI/openai/o1', 'blocked');
  await item(db, 'inv_4', 'models/gemini', 'blocked', { provider_id: 'prov_google' });
  await item(db, 'inv_5', 'openai/Search', 'blocked', { kind: 'tool' });
  await migrate(db);
  for (const [name, id] of [
    ['gpt-5', 'inv_1'],
    ['OpenAI/GPT-5', 'inv_1'],
    ['ä', 'inv_2'],
    ['A\u0308', 'inv_2'],
    ['o1', 'inv_3'],
  ] as const) {
    expect(await itemOf(db, name), name).toMatchObject({ id, status: 'blocked' });
  }
  const key = { providerId: 'prov_google', kind: 'model', nameKey: 'gemini' } as const;
  expect(await findInventoryItemByKey(db, EVERYWHERE, key)).toMatchObject({ id: 'inv_4' });
  const tool = { providerId: OPENAI.id, kind: 'tool', nameKey: 'openai/Search' } as const;
  expect(await findInventoryItemByKey(db, EVERYWHERE, tool)).toMatchObject({ id: 'inv_5' });
});

test('of items with the same key the blocked one stays, else the retired one, else the oldest', async () => {
  const db = await firstRelease();
  await item(db, 'inv_1', 'A', 'available');
  await item(db, 'inv_2', 'openai/a', 'retired');
  await item(db, 'inv_3', 'a', 'blocked');
  await item(db, 'inv_4', 'B', 'available');
  await item(db, 'inv_5', 'b', 'retired');
  await item(db, 'inv_6', 'C', 'missing', { created_at: at(5) });
  await item(db, 'inv_7', 'c', 'available', { created_at: at(1) });
  await observation(db, 'obs_1', 'A', { unknown: 0, status: 'resolved', inventory_item_id: 'inv_1' });
  await migrate(db);
  const left = await db.selectFrom('inventory_items').select(['id', 'name_key']).orderBy('id').execute();
  expect(left.map(({ id, name_key }) => [id, name_key])).toEqual([
    ['inv_3', 'a'],
    ['inv_5', 'b'],
    ['inv_7', 'c'],
  ]);
  expect((await observationOf(db, 'a'))?.inventoryItemId).toBe('inv_3');
});

test('of observations with the same key the last reviewed one stays, with the counts of all', async () => {
  const db = await firstRelease();
  const evidence = '{"serviceNames":["b","a"],"serverAddresses":["h"],"operations":[],"accounts":[],"errors":2}';
  await observation(db, 'obs_1', 'X', {
    occurrences: 5,
    first_seen_at: at(-9),
    last_seen_at: at(9),
    last_trace_id: 't9',
    last_span_id: 's9',
    evidence,
  });
  await observation(db, 'obs_2', 'x', { status: 'rejected', review: review('rejected', 20), occurrences: 2 });
  await observation(db, 'obs_3', 'openai/x', { status: 'approved', review: review('approved', 10) });
  await observation(db, 'obs_4', 'x', { sub_tenant_id: 'east' });
  await observation(db, 'obs_5', 'openai/gpt-4', { status: 'rejected', review: review('rejected', 1) });
  await recommendation(db, 'rec_1', 'X', ['obs_1']);
  const task = { ...PLACED, ...TIMES, kind: 'review_observation', status: 'open', title: 'Review' };
  for (const [id, subject_id] of [
    ['task_1', 'obs_1'],
    ['task_4', 'obs_4'],
  ] as const) {
    const rest = { subject_type: 'runtime_observation', subject_id, priority: 'normal', attempts: 0 };
    await insertRow(db, 'operator_tasks', { ...task, id, ...rest });
  }
  await migrate(db);
  expect(await observationOf(db, 'OpenAI/X')).toMatchObject({
    id: 'obs_2',
    name: 'x',
    status: 'rejected',
    review: { decision: 'rejected', reviewedAt: at(20) },
    occurrences: 8,
    firstSeenAt: at(-9),
    lastSeenAt: at(9),
    lastTraceId: 't9',
    lastSpanId: 's9',
    evidence: { serviceNames: ['a', 'b'], serverAddresses: ['h'], errors: 4, names: ['x', 'openai/x', 'X'] },
  });
  expect(await findObservation(db, EVERYWHERE, 'obs_4')).toMatchObject({ status: 'open', occurrences: 1 });
  expect(await observationOf(db, 'gpt-4')).toMatchObject({ id: 'obs_5', status: 'rejected' });
  expect(await countObservations(db, ACME)).toBe(3);
  // No recommendation proposes the rejected model.
  expect(await recommendations(db)).toEqual([['rec_1', 'model:x', 'superseded', 'obs_2']]);
  const tasks = await db.selectFrom('operator_tasks').select(['id', 'status', 'completed_at']).orderBy('id').execute();
  expect(tasks).toMatchObject([
    { id: 'task_1', status: 'cancelled', completed_at: expect.any(String) },
    { id: 'task_4', status: 'open', completed_at: null },
  ]);
});

test('of observations without a review the declared one stays, else the oldest', async () => {
  const db = await firstRelease();
  await observation(db, 'obs_1', 'A');
  await observation(db, 'obs_2', 'a', { unknown: 0, status: 'resolved' });
  await observation(db, 'obs_3', 'B', { created_at: at(2) });
  await observation(db, 'obs_4', 'b', { created_at: at(1) });
  await migrate(db);
  expect(await observationOf(db, 'a')).toMatchObject({ id: 'obs_2', unknown: false, occurrences: 2 });
  expect(await observationOf(db, 'b')).toMatchObject({ id: 'obs_4', occurrences: 2 });
});

test('of open recommendations about one model the oldest stays, with the observations of all', async () => {
  const db = await firstRelease();
  await observation(db, 'obs_1', 'openai/gpt-9');
  await observation(db, 'obs_2', 'GPT-9', { sub_tenant_id: 'east' });
  await recommendation(db, 'rec_1', 'openai/gpt-9', ['obs_1']);
  await recommendation(db, 'rec_2', 'GPT-9', ['obs_2']);
  await observation(db, 'obs_3', 'openai/known');
  await item(db, 'inv_1', 'known', 'blocked');
  await recommendation(db, 'rec_3', 'openai/known', ['obs_3']);
  await observation(db, 'obs_4', 'Retired');
  await item(db, 'inv_2', 'Retired', 'retired');
  await recommendation(db, 'rec_4', 'Retired', ['obs_4'], 'inv_2');
  await migrate(db);
  expect(await recommendations(db)).toEqual([
    ['rec_1', 'model:gpt-9', 'open', 'obs_1', 'obs_2'],
    ['rec_2', 'model:gpt-9', 'superseded', 'obs_2'],
    ['rec_3', 'model:known', 'superseded', 'obs_3'],
    ['rec_4', 'model:retired', 'open', 'obs_4'],
  ]);
});

test('declarations of manifests are found by their keys', async () => {
  const db = await firstRelease();
  const manifest = { ...PLACED, ...TIMES, id: 'man_1', name: 'm', kind: 'agent', version: 1, status: 'active' };
  await insertRow(db, 'manifests', { ...manifest, digest: 'd', spec: '{}', created_by: 'user:usr_1' });
  const declare = (name: string, kind = 'model') =>
    insertRow(db, 'manifest_declarations', { ...PLACED, manifest_id: 'man_1', provider_key: 'openai', kind, name });
  for (const name of ['OpenAI/GPT-5', 'ÄÖ', 'Llama']) await declare(name);
  await declare('Search', 'tool');
  await migrate(db);
  const isDeclared = async (name: string, kind: 'model' | 'tool' = 'model') => {
    const provider = { ...OPENAI, aliases: [], baseUrl: null, subTenantId: null };
    const subject = { ...ACME, provider, kind, nameKey: nameKey(kind, name, OPENAI.name) };
    return (await manifestDeclarations(db, ACME, [subject]))(subject);
  };
  for (const name of ['gpt-5', 'äö', 'openai/llama']) expect(await isDeclared(name), name).toBe(true);
  expect(await isDeclared('gpt')).toBe(false);
  expect([await isDeclared('Search', 'tool'), await isDeclared('search', 'tool')]).toEqual([true, false]);
});

test('more rows than one batch are keyed and merged, within their tenants', async () => {
  const db = await firstRelease();
  const count = BATCH + 20;
  const rows = Array.from({ length: count }, (_, index) => {
    const id = `inv_${String(index).padStart(5, '0')}`;
    return [itemRow(id, `openai/m-${index}`, 'available'), itemRow(`${id}b`, `M-${index}`, 'blocked')];
  });
  await insertRows(db, 'inventory_items', rows.flat());
  await migrate(db);
  const left = await db.selectFrom('inventory_items').select(['name_key', 'status']).execute();
  expect(left).toHaveLength(count);
  expect(new Set(left.map(({ name_key }) => name_key))).toEqual(
    new Set(Array.from({ length: count }, (_, index) => `m-${index}`)),
  );
  expect(left.every(({ status }) => status === 'blocked')).toBe(true);
});
