import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { ownersCredential, validInput } from '../isolation/fixtures.ts';
import type { Input } from '../isolation/world.ts';
import { OPERATIONS, pathWith } from '../support/records.ts';
import { type Credential, startTestServer, type TestServer } from '../support/server.ts';
import { commitsOf } from '../support/tables.ts';

let server: TestServer;
/** Longer than the suite takes on a busy machine, and shorter than the lifetime of tokens. */
const AHEAD_MS = 20 * 60_000;

const committed = () => commitsOf(server.services);

beforeAll(async () => {
  server = await startTestServer(LOOPBACK);
  // With a frozen clock the last use of each key is stored once, and never during a replay.
  // The clock is ahead of the identity provider's, so that no token is issued in its future.
  server.freeze(AHEAD_MS);
});
afterAll(() => server.stop());

const operations = OPERATIONS.map(({ operation }) => ({ operation, id: operation.operationId }));
const writes = operations.filter(({ operation }) => operation.idempotency !== 'none');

test('every operation except reads, searches and the receiver of telemetry accepts a key', () => {
  const others = operations.filter(({ operation }) => operation.idempotency === 'none' && operation.method !== 'GET');
  expect(others.map(({ id }) => id).toSorted()).toEqual([
    'ingest_logs',
    'ingest_metrics',
    'ingest_traces',
    'introspect_gateway_session',
    'plan_provider_recommendations',
    'search_credentials',
    'search_service_accounts',
  ]);
  expect(writes.filter(({ operation }) => operation.idempotency === 'lease').map(({ id }) => id)).toEqual([
    'sync_provider_inventory',
    'review_runtime_observations',
    'dismiss_recommendations',
  ]);
});

describe.each(writes)('$id', ({ operation }) => {
  const send = (as: Credential, { path = {}, query = {}, body }: Input, key: string) => {
    const search = new URLSearchParams(query as Record<string, string>).toString();
    const target = `${pathWith(operation, path)}${search === '' ? '' : `?${search}`}`;
    const headers = { 'idempotency-key': key };
    return server.call(operation.method, target, { as, headers, ...(body !== undefined && { body }) });
  };

  test('is done once with the same key, and gets the same answer', async () => {
    const as = await ownersCredential(server, operation);
    const input = await validInput(server, operation);
    const key = randomUUID();
    const first = await send(as, input, key);
    expect(first.status, first.text).toBe(200);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(first.headers.has('etag')).toBe(operation.record !== undefined);

    const before = await committed();
    const again = await send(as, input, key);
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
    expect(await committed()).toEqual(before);
  });

  test('a refusal is not stored, and the key can be used again', async () => {
    const as = await ownersCredential(server, operation);
    const input = await validInput(server, operation);
    const key = randomUUID();
    // A body that no operation accepts. Operations without a body are refused because their path is invalid.
    const refusable = operation.body ? { ...input, body: { ...(input.body as object), unheardOf: true } } : null;
    if (refusable) {
      const refused = await send(as, refusable, key);
      expect(refused.status, refused.text).toBe(422);
      expect(refused.body.detail).toContainEqual(expect.objectContaining({ type: 'extra_forbidden' }));
    } else {
      const [name] = Object.keys(input.path ?? {});
      const unknown = { ...input, path: { ...input.path, [name ?? '']: 'nobodys' } };
      expect((await send(as, unknown, key)).status).toBeGreaterThanOrEqual(400);
    }
    const answered = await send(as, input, key);
    expect(answered.status, answered.text).toBe(200);
    expect(answered.headers.get('idempotency-replayed')).toBeNull();
  });
});
