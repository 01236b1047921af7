import * as contract from '@quartermaster/contracts/telemetry-health.ts';
import { beforeAll, expect, test } from 'vitest';
import { mintApiKey } from '../../src/auth/api-key-format.ts';
import { accountWithKey, unique } from '../support/people.ts';
import type { Body } from '../support/server.ts';
import { chat, exportRequest, newTraceId, type SpanInput } from '../telemetry/traces/sending.ts';
import { checkCoverageAfterAll, type Endpoints, expectInvalid, serverFor } from './harness.ts';

let server: Endpoints;
beforeAll(async () => {
  server = await serverFor(contract);
});
checkCoverageAfterAll(() => server);

const time = expect.stringMatching(/^\d{4}-/);
const words = expect.stringMatching(/\w+ \w+/);

const unknownSpan = (scope: string): SpanInput => ({
  traceId: newTraceId(),
  name: 'step',
  scope,
  attributes: { 'acme.model': 'gpt-5' },
});

async function newSender() {
  const tenantId = unique('health');
  const sender = await accountWithKey(server, { tenantId }, ['traces:write']);
  const path = `/v1/service-accounts/${sender.id}`;
  const keysPath = `${path}/keys`;
  const query = `?tenant_id=${tenantId}`;
  const newKey = (scopes: string[]): Promise<Body> =>
    server.ok('POST', `${keysPath}${query}`, { as: server.admin, body: { scopes } });
  const health = async (filter = `&service_account_id=${sender.id}`) => {
    const { items } = await server.ok('GET', `/v1/telemetry-health${query}${filter}`, { as: server.admin });
    return items as Body[];
  };
  return { ...sender, tenantId, path, keysPath, query, newKey, health };
}

const send = (key: string, body: unknown, signal = 'traces') =>
  server.call('POST', `/v1/${signal}`, { as: { key }, body });

test('list_telemetry_health says of each key what was received and understood, and lists scopes that were not', async () => {
  const { id, tenantId, key, keyId, health, newKey } = await newSender();
  expect(await health()).toEqual([
    { serviceAccountId: id, tenantId, subTenantId: null, name: id, status: 'active', keys: [] },
  ]);
  const other = await newKey(['traces:write']);
  await send(key, exportRequest([chat('gpt-5'), unknownSpan('acme.http'), unknownSpan('acme.http')]));
  await send(other['key'], exportRequest([unknownSpan('acme.agents')]));
  const [{ keys }] = (await health()) as [Body];
  const first = keys.find((one: Body) => one['keyId'] === keyId);
  expect(first).toEqual({
    keyId,
    spans: 3,
    logRecords: 0,
    understood: 1,
    notUnderstood: 2,
    lastReceivedAt: time,
    lastUnderstoodAt: time,
    fix: null,
    unread: [{ scope: 'acme.http', spans: 2, logRecords: 0, since: time, lastReceivedAt: time }],
    problems: [],
  });
  expect(keys.find((one: Body) => one['keyId'] === other['id'])).toMatchObject({
    understood: 0,
    notUnderstood: 1,
    lastUnderstoodAt: null,
    fix: expect.stringContaining('docs/frameworks.md'),
  });
});

test('list_telemetry_health says why telemetry was refused or dropped, and what to do about it', async () => {
  const sender = await newSender();
  const { key, keyId, keysPath, query, newKey, health } = sender;
  const reader = await newKey(['traces:read']);
  const revoked = await newKey(['traces:write']);
  await server.ok('DELETE', `${keysPath}/${revoked['id']}${query}`, { as: server.admin });
  const answers = [
    await send(reader['key'], exportRequest([chat('gpt-5')])),
    await send(revoked['key'], exportRequest([chat('gpt-5')])),
    await send(key, { resourceSpans: 'none' }),
    await send(key, { resourceSpans: 'none' }),
    await send(key, { resourceMetrics: [] }, 'metrics'),
    await send(key, exportRequest([{ ...chat('gpt-5'), traceId: '0' }])),
  ];
  expect(answers.map(({ status }) => status)).toEqual([403, 401, 400, 400, 200, 200]);
  const [{ keys }] = (await health()) as [Body];
  const problemsOf = (id: string) => keys.find((one: Body) => one['keyId'] === id)?.['problems'];
  const problem = { records: 0, requests: 1, fix: words, since: time, lastAt: time, detail: words };
  expect(problemsOf(reader['id'])).toEqual([{ ...problem, reason: 'scope_missing' }]);
  expect(problemsOf(revoked['id'])).toEqual([{ ...problem, reason: 'credentials_invalid' }]);
  const others = problemsOf(keyId).toSorted((a: Body, b: Body) => (a['reason'] < b['reason'] ? -1 : 1));
  expect(others).toEqual([
    { ...problem, reason: 'metrics_dropped', detail: null },
    { ...problem, reason: 'records_rejected', records: 1 },
    { ...problem, reason: 'request_malformed', requests: 2, detail: expect.stringContaining('must be an array') },
  ]);
});

test('regression: a key that is cut off or has a wrong secret is named at its account, and takes no place from keys that send', async () => {
  const { tenantId, key, keyId, newKey, health } = await newSender();
  const { key: other } = await accountWithKey(server, { tenantId }, ['traces:write']);
  const start = key.slice(0, `qm_${keyId}_`.length);
  // With another secret, with the end of another key, cut off, and without a secret.
  const wrong = [mintApiKey(keyId).key, start + other.slice(start.length), key.slice(0, -10), start];
  const answers = [];
  for (const sent of wrong) answers.push(await send(sent, exportRequest([chat('gpt-5')])));
  const unknown = await send(`qm_key_${'0'.repeat(26)}_x`, exportRequest([chat('gpt-5')]));
  for (const { status, body } of answers) {
    expect([status, { ...body, instance: '' }]).toEqual([401, { ...unknown.body, instance: '' }]);
  }
  const problem = { reason: 'key_secret_wrong', requests: 4, records: 0, fix: words, since: time, lastAt: time };
  // The key is looked up after the answer.
  await expect.poll(() => health()).toMatchObject([{ keys: [{ keyId, spans: 0, problems: [problem] }] }]);

  const senders: Body[] = [];
  for (let count = 0; count < 10; count += 1) {
    const sender = await newKey(['traces:write']);
    senders.push(sender);
    await send(sender['key'] as string, exportRequest([chat('gpt-5')]));
    await health();
  }
  const ids = async () => new Set(((await health()) as [Body])[0]['keys'].map((one: Body) => one['keyId']));
  const places = new Set([...senders.map((one) => one['id']), null]);
  expect(await ids()).toEqual(places);
  await send(key.slice(0, -1), exportRequest([chat('gpt-5')]));
  const others = async () =>
    ((await health()) as [Body])[0]['keys'].find((one: Body) => one['keyId'] === null)?.problems[0].requests;
  await expect.poll(others).toBe(5);
  expect(await ids()).toEqual(places);
});

test('list_telemetry_health filters by tenant, account and key, and ends where the reach of the caller does', async () => {
  const sender = await newSender();
  const stranger = await newSender();
  await send(sender.key, exportRequest([chat('gpt-5')]));
  const other = await sender.newKey(['traces:write']);
  expect(await sender.health('')).toMatchObject([{ serviceAccountId: sender.id }]);
  expect(await sender.health(`&key_id=${sender.keyId}`)).toMatchObject([{ keys: [{ keyId: sender.keyId }] }]);
  expect(await sender.health(`&key_id=${other['id']}`)).toMatchObject([{ keys: [] }]);
  expect(await sender.health('&service_account_id=nobody')).toEqual([]);
  expect(await stranger.health(`&key_id=${sender.keyId}`)).toEqual([]);
  expect(await sender.health(`&key_id=${sender.keyId}&service_account_id=${stranger.id}`)).toEqual([]);
  const reader = await accountWithKey(server, { tenantId: stranger.tenantId }, ['credentials:read']);
  const path = `/v1/telemetry-health?key_id=${sender.keyId}`;
  expect(await server.ok('GET', path, { as: { key: reader.key } })).toEqual({ items: [], nextCursor: null });
  expectInvalid(await server.call('GET', '/v1/telemetry-health?account=x', { as: server.admin }), {
    loc: ['query', 'account'],
    type: 'extra_forbidden',
  });
});

test('list_telemetry_health pages from the newest account to the oldest', async () => {
  const { tenantId, id } = await newSender();
  const { id: newer } = await accountWithKey(server, { tenantId });
  const path = `/v1/telemetry-health?tenant_id=${tenantId}&limit=1`;
  const first = await server.ok('GET', path, { as: server.admin });
  const second = await server.ok('GET', `${path}&cursor=${first.nextCursor}`, { as: server.admin });
  expect([first, second].map(({ items }) => items[0].serviceAccountId)).toEqual([newer, id]);
  expect(second.nextCursor).toBeNull();
});

test('the keys of an account that sent longest ago are counted together', async () => {
  const { keyId, key, newKey, health } = await newSender();
  await send(key, exportRequest([chat('gpt-5'), unknownSpan('acme.http')]));
  await health();
  for (let count = 0; count < 11; count += 1) {
    const { key: next } = await newKey(['traces:write']);
    await send(next as string, exportRequest([chat('gpt-5')]));
    await health();
  }
  const [{ keys }] = (await health()) as [Body];
  expect(keys).toHaveLength(11);
  expect(keys.map((one: Body) => one['keyId'])).not.toContain(keyId);
  expect(keys.find((one: Body) => one['keyId'] === null)).toMatchObject({ spans: 3, understood: 2 });
  const sum = keys.reduce((spans: number, one: Body) => spans + one['spans'], 0);
  expect(sum).toBe(13);
});
