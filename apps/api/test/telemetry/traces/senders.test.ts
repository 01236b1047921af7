import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { ingestTraces } from '@quartermaster/contracts/traces.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/http/messages/send.ts';
import { Intake } from '../../../src/telemetry/ingest/intake.ts';
import { otlpReceiver } from '../../../src/telemetry/ingest/receiver.ts';
import { createCallers } from '../../../src/http/rate-limits/callers.ts';
import { fromProtobuf, toProtobuf } from '../otlp/wire.ts';
import { lockTable } from '../../support/locked-table.ts';
import { accountWithKey, joinPlace, memberWithToken, unique } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { chat, exportRequest, newTraceId, sendSpans } from './sending.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A new tenant: the first account in a place creates it. */
async function newTenantId(): Promise<string> {
  return (await accountWithKey(server, { tenantId: unique('tenant') })).place.tenantId;
}

describe('the place of spans', () => {
  test('comes only from the credential, not from the request', async () => {
    const sender = await accountWithKey(server, { tenantId: 'own', subTenantId: 'team' }, ['traces:write']);
    const traceId = newTraceId();
    const span = { traceId, attributes: { tenantId: 'other', 'tenant.id': 'other', tenant_id: 'other' } };
    const body = { ...exportRequest([span]), tenantId: 'other' };
    await server.ok('POST', '/v1/traces', { as: sender, body });
    const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as: server.admin });
    expect(items).toMatchObject([{ tenantId: 'own', subTenantId: 'team', receivedFrom: sender.principal }]);
  });

  test('may differ for the same span: two tenants can each store it', async () => {
    const traceId = newTraceId();
    const span = { traceId, spanId: 'abcdef0123456789', ...chat('gpt-5') };
    for (const tenantId of ['one', 'two']) {
      const sender = await accountWithKey(server, { tenantId });
      await sendSpans(server, sender, [span]);
      const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as: sender });
      expect(items).toMatchObject([{ tenantId }]);
    }
    const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as: server.admin });
    expect(items).toHaveLength(2);
  });

  test('is the membership of a user who has only one; with several the answer is 403 in the encoding of the request', async () => {
    const [one, two] = [await newTenantId(), await newTenantId()];
    const user = await memberWithToken(server, { tenantId: one }, 'operator');
    const traceId = newTraceId();
    await sendSpans(server, user, [{ traceId }]);
    const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as: user });
    expect(items).toMatchObject([{ tenantId: one, subTenantId: null, receivedFrom: `user:${user.id}` }]);

    await joinPlace(server, user, { place: { tenantId: two }, role: 'operator' });
    const request = exportRequest([{ traceId }]);
    const json = await server.call('POST', '/v1/traces', { as: user, body: request });
    expect(json.status).toBe(403);
    expect(json.body).toEqual({ code: 7, message: expect.stringContaining('exactly one tenant') });
    const protobuf = await fetch(`${server.url}/v1/traces`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.token}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(toProtobuf(request)),
    });
    expect(protobuf.status).toBe(403);
    expect(fromProtobuf('RpcStatus', Buffer.from(await protobuf.arrayBuffer()))).toMatchObject({ code: 7 });
  });

  test('is not a membership that can only read', async () => {
    const [one, two] = [await newTenantId(), await newTenantId()];
    const user = await memberWithToken(server, { tenantId: one }, 'operator');
    await joinPlace(server, user, { place: { tenantId: two }, role: 'viewer' });
    await sendSpans(server, user, [{}]);
  });
});

test('a request waits for a lock that is released in time', async () => {
  const sender = await accountWithKey(server, { tenantId: 'locked' }, ['traces:write']);
  const release = await lockTable(server.databaseUrl, 'traces');
  const sending = sendSpans(server, sender, [chat('gpt-5')]);
  setTimeout(release, 300);
  await sending;
});

describe('incomplete uploads', () => {
  /** The receiver on a separate HTTP server with a short time limit. Collects its refusals. */
  async function receiver(readTimeoutMs: number) {
    const refusals: Answer[] = [];
    const { services, trustedIssuer } = server;
    const callers = createCallers({ ...services, ...trustedIssuer }, null, () => '');
    const receive = otlpReceiver({ intake: new Intake(services, 1024 * 1024), callers, readTimeoutMs });
    const handled: Promise<void>[] = [];
    const listener = createServer((req, res) => {
      const onRefused = (_error: unknown, answer: Answer) => refusals.push(answer);
      const request = { operation: ingestTraces, requestId: 'test', onRefused, onTurn: () => {} };
      handled.push(receive(req, res, request));
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    return { refusals, handled, port, close: () => listener.close() };
  }

  async function upload(port: number, key: string) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => {});
    socket.write(
      `POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\n` +
        'Content-Length: 1000\r\n\r\n{"resourceSpans":',
    );
    return socket;
  }

  test('a client that stops sending is disconnected, which is not logged as an unexpected error', async () => {
    const { key } = await accountWithKey(server, { tenantId: 'stalled' }, ['traces:write']);
    const { refusals, handled, port, close } = await receiver(50);
    const socket = await upload(port, key);
    await once(socket, 'close');
    await Promise.all(handled);
    close();
    expect(refusals).toMatchObject([{ status: 400, unexpected: false }]);
  });

  test('a client that disconnects in the middle of its upload does not affect others', async () => {
    const { key } = await accountWithKey(server, { tenantId: 'stalled' }, ['traces:write']);
    const { refusals, handled, port, close } = await receiver(60_000);
    const socket = await upload(port, key);
    await expect.poll(() => handled.length).toBe(1);
    socket.resetAndDestroy();
    await Promise.all(handled);
    close();
    expect(refusals).toMatchObject([{ status: 400, unexpected: false }]);
    await sendSpans(server, { key }, [chat('gpt-5')]);
  });
});
