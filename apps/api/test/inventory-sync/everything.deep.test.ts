import { expect, test } from 'vitest';
import { type Body, serverOfTest } from '../support/server.ts';
import { LOOPBACK, startEverything } from './peers.ts';

test('a sync of the official “everything” server finds all tools, resources, templates and prompts', async () => {
  const server = await serverOfTest(LOOPBACK);
  const baseUrl = await startEverything();
  const as = server.admin;
  const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'everything', kind: 'mcp', baseUrl } });
  const first = await server.ok('POST', `/v1/providers/${provider.id}/sync`, { as });
  expect(first).toMatchObject({
    providerId: provider.id,
    updated: 0,
    removed: 0,
    unchanged: 0,
    errors: [],
    attempts: 1,
  });
  const { items, syncedAt } = await server.ok('GET', `/v1/providers/${provider.id}/inventory?limit=100`, { as });
  expect(items).toHaveLength(first.added);
  expect(syncedAt).toBe(first.syncedAt);
  const names = (kind: string) => items.filter((item: Body) => item.kind === kind).map((item: Body) => item.name);
  expect(names('tool')).toEqual(expect.arrayContaining(['echo', 'get-sum']));
  expect(names('prompt')).toEqual(expect.arrayContaining(['simple-prompt']));
  expect(names('resource')).toEqual(expect.arrayContaining([expect.stringMatching(/^demo:\/\/resource\//)]));
  const echo = items.find((item: Body) => item.name === 'echo');
  expect(echo).toMatchObject({ status: 'available', source: 'sync', drift: null, providerId: provider.id });
  expect(echo.schemaDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(echo.attributes.inputSchema).toMatchObject({ type: 'object', required: ['message'] });
  const again = await server.ok('POST', `/v1/providers/${provider.id}/sync`, { as });
  expect(again).toMatchObject({ added: 0, updated: 0, removed: 0, unchanged: first.added });
  const task = await server.ok('GET', `/v1/operator/tasks/${again.taskId}`, { as });
  expect(task).toMatchObject({
    kind: 'sync_inventory',
    status: 'succeeded',
    attempts: 1,
    lastError: null,
    note: `0 added, 0 changed, 0 no longer listed, ${first.added} unchanged.`,
    leaseExpiresAt: null,
    subject: { type: 'provider', id: provider.id },
    progress: { phase: 'written', done: first.added },
  });
  expect(await server.ok('GET', `/v1/providers/${provider.id}`, { as })).toMatchObject({
    health: 'healthy',
    inventorySyncedAt: again.syncedAt,
  });
});
