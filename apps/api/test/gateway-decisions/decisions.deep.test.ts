import { beforeAll, expect, test } from 'vitest';
import { type TestServer, startTestServer } from '../support/server.ts';
import { type DecidingWorld, decidingWorld } from './sessions.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({}, { decisionsFreshMs: 0 });
  return () => server.stop();
});

type Asked = { provider?: string; kind?: string; name?: string; token?: string };

const decide = ({ gatewayId, providerName, token }: DecidingWorld, asked: Asked = {}) => {
  const { token: otherToken = token, ...body } = { provider: providerName, kind: 'tool', name: 'search', ...asked };
  return server.call('POST', `/v1/gateways/${gatewayId}/decisions`, {
    headers: { Authorization: `Bearer ${otherToken}` },
    body,
  });
};

test('regression: a name is not compared with a family of very many models', async () => {
  const world = await decidingWorld(server, { items: [], provider: { kind: 'llm' } });
  const declare = (day: number) => {
    const name = `gpt-5-20${String(10_00_00 + day)}`;
    const body = { kind: 'model', name };
    return server.ok('POST', `/v1/providers/${world.providerId}/inventory`, { as: world.as, body });
  };
  const ask = (name: string) => decide(world, { kind: 'model', name });
  const days = Array.from({ length: 200 }, (_, at) => 101 + 100 * (at % 12) + Math.floor(at / 12));
  const [first] = await Promise.all(days.map(declare));
  expect((await ask('openrouter/' + first.name)).body).toMatchObject({ allowed: true });
  await declare(131);
  expect((await ask('openrouter/' + first.name)).body).toMatchObject({ reason: 'not_in_inventory' });
  expect((await ask(first.name)).body).toMatchObject({ allowed: true });
});

test('regression: a name of megabytes is neither remembered nor repeated in the answer', async () => {
  const world = await decidingWorld(server, { items: [{ kind: 'model', name: 'gpt-5' }], provider: { kind: 'llm' } });
  const authorize = async (model: string) => {
    const answer = await fetch(`${server.url}/v1/gateways/${world.gatewayId}/authorize/${world.providerName}/models`, {
      method: 'POST',
      headers: { 'X-Quartermaster-Session': world.token, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const long = await authorize('x'.repeat(1000 * 1000));
  expect(long.status).toBe(403);
  expect(long.text.length).toBeLessThan(2000);
  // A prefix of the provider is no part of a model's name. Names that are as long as this one are not looked up at all.
  expect((await authorize(`${world.providerName}/gpt-5`)).status).toBe(200);
  expect((await authorize(`${`${world.providerName}/`.repeat(100)}gpt-5`)).status).toBe(403);
});
