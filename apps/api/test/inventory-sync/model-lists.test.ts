import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unique } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { LOOPBACK, startPeer } from './peers.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
});
afterAll(() => server.stop());

const as = () => ({ as: server.admin });

/** Syncs a new vendor. @returns the answer, the provider after it, and the names of its models */
async function syncOf(handle: RequestListener): Promise<{ answered: Body; provider: Body; names: string[] }> {
  const { url } = await startPeer(handle);
  const body = { name: unique('llm'), kind: 'llm', baseUrl: `${url}/v1` };
  const { id } = await server.ok('POST', '/v1/providers', { ...as(), body });
  const { body: answered } = await server.call('POST', `/v1/providers/${id}/sync`, as());
  const provider = await server.ok('GET', `/v1/providers/${id}`, as());
  const { items } = await server.ok('GET', `/v1/providers/${id}/inventory`, as());
  return { answered, provider, names: items.map(({ name }: Body) => name).toSorted() };
}

test('models in a top-level array, as Together lists them, are read', async () => {
  const { answered, names } = await syncOf((_req, res) => void res.end('[{"id":"a"},{"id":"b"}]'));
  expect(answered).toMatchObject({ added: 2 });
  expect(names).toEqual(['a', 'b']);
});

test('a list whose data is null, as Ollama sends it without a model, is empty', async () => {
  const { answered, provider } = await syncOf((_req, res) => void res.end('{"object":"list","data":null}'));
  expect(answered).toMatchObject({ added: 0, errorCount: 0 });
  expect(provider).toMatchObject({ health: 'healthy', healthReason: null });
});

test('an error with data null is no list of models', async () => {
  const { answered } = await syncOf((_req, res) => void res.end('{"error":"no","data":null}'));
  expect(answered.detail).toContain('it did not answer with a list of models');
});
