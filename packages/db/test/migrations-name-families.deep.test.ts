import { expect, test } from 'vitest';
import { migrate } from '../src/database.ts';
import { nameFamily, rewrittenName } from '@quartermaster/naming/name-family.ts';
import { nameKey } from '@quartermaster/naming/name-key.ts';
import { manifestDeclarations } from '../src/repositories/manifest-declarations.ts';
import { firstReleaseDatabase, insertRow, insertRows, NOW } from './temporary-database.ts';

const TIME = NOW.toISOString();
/** Rows of one batch of the migration. */
const BATCH = 1000;

const MODELS = [
  'gpt-5',
  'OpenAI/GPT-5-2026-01-01',
  'azure:gpt-35-turbo@20260101',
  'us.anthropic.claude-sonnet-5-20260101-v1:0',
  'ft:gpt-4o:org::id',
  'meta-llama/llama-3.1',
  'models/gemini-3-flash-latest',
  'llama3:70b',
  'x/',
  '/',
  'gpt-4-0613',
  'arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0',
  'claude-sonnet-5[1m]',
  'ÄÖ 1.5',
  'deepseek.r1',
];
const TOOLS = ['get-sum', 'Get Sum', '__', '日本', 'a.b/c'];

const PLACED = { tenant_id: 'acme', sub_tenant_id: '' };
const TIMES = { created_at: TIME, updated_at: TIME };

test('existing names get the same families as new names', async () => {
  const db = await firstReleaseDatabase();
  const provider = { kind: 'llm', status: 'active', health: 'unknown', metadata: '{}', ...PLACED, ...TIMES };
  await insertRow(db, 'providers', { ...provider, id: 'prov_1', name: 'Our Models', name_key: 'our models' });
  const named = [
    ...MODELS.map((name) => ({ kind: 'model', name })),
    ...TOOLS.map((name) => ({ kind: 'tool', name })),
    ...Array.from({ length: BATCH + 5 }, (_, index) => ({ kind: 'agent', name: `agent-${index}` })),
  ];
  const items = named.map(({ kind, name }, index) => ({
    ...PLACED,
    ...TIMES,
    id: `inv_${index}`,
    provider_id: 'prov_1',
    kind,
    name,
    status: 'available',
    source: 'manual',
    attributes: '{}',
    first_seen_at: TIME,
    last_seen_at: TIME,
  }));
  await insertRows(db, 'inventory_items', items);
  for (const name of MODELS) {
    await insertRow(db, 'runtime_observations', {
      ...PLACED,
      ...TIMES,
      id: `obs_${name}`,
      provider_id: 'prov_1',
      kind: 'model',
      name,
      unknown: 1,
      status: 'open',
      occurrences: 1,
      first_seen_at: TIME,
      last_seen_at: TIME,
      last_trace_id: 't',
      last_span_id: 's',
      risk: '{"level":"medium","factors":[]}',
      evidence: '{"serviceNames":[],"serverAddresses":[],"operations":[],"accounts":[],"errors":0}',
    });
  }
  const manifest = { ...PLACED, ...TIMES, id: 'man_1', name: 'm', kind: 'agent', version: 1, status: 'active' };
  await insertRow(db, 'manifests', { ...manifest, digest: 'd', spec: '{}', created_by: 'user:usr_1' });
  const declaration = { ...PLACED, manifest_id: 'man_1', provider_key: 'our models', kind: 'model', name: 'O3' };
  await insertRow(db, 'manifest_declarations', declaration);
  await migrate(db);

  for (const table of ['inventory_items', 'runtime_observations'] as const) {
    const rows = await db.selectFrom(table).select(['kind', 'name_key', 'name_family']).execute();
    expect(rows).toHaveLength(table === 'inventory_items' ? named.length : MODELS.length);
    for (const { kind, name_key, name_family } of rows) expect(name_family).toBe(nameFamily(kind, name_key));
  }
  const [stored] = await db.selectFrom('providers').select(['name_family', 'aliases']).execute();
  expect(stored).toEqual({ name_family: rewrittenName('Our Models'), aliases: '[]' });
  const place = { tenantId: 'acme', subTenantId: null };
  const subject = {
    ...place,
    kind: 'model' as const,
    nameKey: nameKey('model', 'o3-2026-01-01', 'Our Models'),
    provider: { id: 'prov_1', name: 'Our Models', aliases: [], baseUrl: null, subTenantId: null },
  };
  expect((await manifestDeclarations(db, place, [subject]))(subject)).toBe(true);
});
