import type { Operation } from '@quartermaster/contracts/operation.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { ownersCredential, validInput } from '../isolation/fixtures.ts';
import type { Input } from '../isolation/world.ts';
import { OPERATIONS, pathWith } from '../support/records.ts';
import { type Credential, startTestServer, type TestServer } from '../support/server.ts';
import { commitsOf } from '../support/tables.ts';

/** How far the clock is ahead: more than the suite takes on a busy machine. */
const AHEAD_MS = 20 * 60_000;

let server: TestServer;
const committed = () => commitsOf(server.services);

beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
  // With a frozen clock the last use of each key is stored once, and never during a refusal.
  // The clock is ahead of the identity provider's, so that no token is issued in its future.
  server.freeze(AHEAD_MS);
});
afterAll(() => server.stop());

const operations = OPERATIONS.map(({ operation }) => ({ operation, id: operation.operationId }));
const conditional = operations.filter(({ operation }) => operation.ifMatch !== undefined);
const readable = operations.filter(({ operation }) => operation.record !== undefined && operation.method === 'GET');

/** Writes that do not change a single existing record. */
const UNCONDITIONAL = [
  'allow_identity_relink',
  'create_gateway',
  'create_gateway_session',
  'create_inventory_item',
  'create_manifest',
  'create_membership',
  'create_organization',
  'create_provider',
  'create_service_account',
  'create_service_account_key',
  'create_tenant',
  // It writes a new version.
  'declare_agent_channel',
  // A price is never read by itself, so it has no tag.
  'delete_price',
  'dismiss_recommendations',
  'register_user',
  'review_runtime_observations',
  'revoke_derived_access',
  'revoke_my_session',
  'set_price',
  'sync_provider_inventory',
  'undo_recommendations',
  'update_tenant_limits',
  'withdraw_identity_relink',
];

function send(
  operation: Operation,
  { path = {}, query = {}, body }: Input,
  { as, headers }: { as: Credential; headers: Record<string, string> },
) {
  const search = new URLSearchParams(query as Record<string, string>).toString();
  const target = `${pathWith(operation, path)}${search === '' ? '' : `?${search}`}`;
  return server.call(operation.method, target, { as, headers, ...(body !== undefined && { body }) });
}

test('every write accepts If-Match, except those that do not change a single existing record', () => {
  const writes = operations.filter(({ operation }) => operation.idempotency !== 'none');
  const others = writes.filter(({ operation }) => operation.ifMatch === undefined);
  expect(others.map(({ id }) => id).toSorted()).toEqual(UNCONDITIONAL);
});

describe.each(conditional)('$id', ({ operation }) => {
  test("is 412 for a tag that is not the record's, and changes nothing", async () => {
    const as = await ownersCredential(server, operation);
    const input = await validInput(server, operation);
    await send(operation, input, { as, headers: { 'if-match': '"none"' } });
    const before = await committed();
    for (const stale of ['"0123456789abcdef0123456789abcdef"', '"one", "two"', 'W/"weak"']) {
      const answer = await send(operation, input, { as, headers: { 'if-match': stale } });
      expect([answer.status, answer.body.code], answer.text).toEqual([412, 'precondition_failed']);
    }
    expect(await committed()).toEqual(before);
  });

  test('accepts * if the record exists', async () => {
    // The first credential or secret header replaces no record.
    const isFirst = ['put_provider_credential', 'put_provider_secret_header'].includes(operation.operationId);
    if (isFirst) return expectNoneBefore(operation);
    const as = await ownersCredential(server, operation);
    const input = await validInput(server, operation);
    const answer = await send(operation, input, { as, headers: { 'if-match': '*' } });
    expect(answer.status, answer.text).toBe(200);
  });

  test('is 422 for a malformed If-Match, and 404 for a missing record', async () => {
    const as = await ownersCredential(server, operation);
    const input = await validInput(server, operation);
    const malformed = await send(operation, input, { as, headers: { 'if-match': 'unquoted' } });
    expect(malformed.status, malformed.text).toBe(422);
    expect(malformed.body.detail[0].loc).toEqual(['header', 'If-Match']);
    // A header that a provider does not have is no missing record: like its credential, it can be stored.
    const [name] = Object.keys(input.path ?? {})
      .filter((parameter) => parameter !== 'header_name')
      .slice(-1);
    if (name === undefined) return;
    const unknown = { ...input, path: { ...input.path, [name]: 'nobodys' } };
    const missing = await send(operation, unknown, { as, headers: { 'if-match': '*' } });
    expect(missing.status, missing.text).toBe(404);
  });
});

async function expectNoneBefore(operation: Operation) {
  const as = await ownersCredential(server, operation);
  const input = await validInput(server, operation);
  expect((await send(operation, input, { as, headers: { 'if-match': '*' } })).status).toBe(412);
  const first = await send(operation, input, { as, headers: {} });
  const tag = first.headers.get('etag') ?? '';
  const second = await send(operation, input, { as, headers: { 'if-match': tag } });
  expect(second.status, second.text).toBe(200);
  // The tag is stale, because the second credential replaced the first.
  expect((await send(operation, input, { as, headers: { 'if-match': tag } })).status).toBe(412);
}

describe.each(readable)('$id', ({ operation }) => {
  test('answers a strong tag, and 304 without a body if the caller has it', async () => {
    const as = await ownersCredential(server, operation);
    const input = await validInput(server, operation);
    const first = await send(operation, input, { as, headers: {} });
    const tag = first.headers.get('etag') ?? '';
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await send(operation, input, { as, headers: { 'if-none-match': known } });
      expect([again.status, again.text, again.headers.get('etag')], known).toEqual([304, '', tag]);
      expect(again.headers.get('content-type')).toBeNull();
    }
    const other = await send(operation, input, { as, headers: { 'if-none-match': '"other"' } });
    expect([other.status, other.text]).toEqual([200, first.text]);
    const malformed = await send(operation, input, { as, headers: { 'if-none-match': 'unquoted' } });
    expect(malformed.status).toBe(422);
  });
});

test.each(UNCONDITIONAL)('%s refuses If-Match, which it does not support', async (id) => {
  const { operation } = operations.find((one) => one.id === id) ?? {};
  if (!operation) throw new Error(`there is no operation ${id}`);
  const as = await ownersCredential(server, operation);
  const input = await validInput(server, operation);
  const answer = await send(operation, input, { as, headers: { 'if-match': '*' } });
  expect(answer.status, answer.text).toBe(422);
  expect(answer.body.detail[0].loc).toEqual(['header', 'If-Match']);
});

// Regression: both were ignored. `If-None-Match: *` overwrote an existing record, and a read succeeded with a stale If-Match.
test.each(operations)('$id refuses the precondition of the other kind', async ({ operation }) => {
  if (operation.transport === 'otlp') return;
  const as = await ownersCredential(server, operation);
  const input = await validInput(server, operation);
  const name = operation.method === 'GET' ? 'If-Match' : 'If-None-Match';
  const before = await committed();
  for (const value of ['*', '"some"']) {
    const answer = await send(operation, input, { as, headers: { [name]: value } });
    expect(answer.status, answer.text).toBe(422);
    expect(answer.body.detail).toEqual([expect.objectContaining({ loc: ['header', name], type: 'value_error' })]);
  }
  expect(await committed()).toEqual(before);
});

test.each([
  ['If-Match', 'GET', '/trpc/providers.list?input=%7B%7D', undefined],
  ['If-Match', 'POST', '/trpc/providers.create', { body: { name: 'x', kind: 'llm' } }],
  ['If-None-Match', 'POST', '/trpc/providers.create', { body: { name: 'x', kind: 'llm' } }],
])('over tRPC as well: %s of %s %s', async (name, method, path, body) => {
  const answer = await server.call(method, path, { as: server.admin, headers: { [name]: '*' }, body });
  expect([answer.status, answer.body.error.data.detail[0].loc]).toEqual([422, ['header', name]]);
});
