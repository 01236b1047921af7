import { randomBytes } from 'node:crypto';
import { countedRecordBytes } from '@quartermaster/db/testing/record-bytes.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { removeOldTraces } from '../../../src/telemetry/trace-retention.ts';
import { accountWithKey, unique } from '../../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../../support/server.ts';
import { modelRequestLogs } from '../otlp/wire.ts';
import { chat, exportRequest, newTraceId } from './sending.ts';

const DAY_MS = 24 * 3600 * 1000;
const KIB = 1024;

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A tenant with two accounts that may only send telemetry, and with little room. */
async function tenantWithSenders() {
  const tenantId = unique('tenant');
  await server.ok('POST', '/v1/tenants', { as: server.admin, body: { id: tenantId } });
  const account = () => accountWithKey(server, { tenantId }, ['traces:write']);
  const [greedy, other] = [await account(), await account()];
  const usage = (): Promise<Body> => server.ok('GET', `/v1/tenants/${tenantId}/usage`, { as: server.admin });
  const bytesOfRecords = async () => (await countedRecordBytes(server.services.db))[tenantId] ?? 0;
  const bytesOfSpans = async (): Promise<number> => (await usage()).storedBytes.used - (await bytesOfRecords());
  /** Leaves this much room for spans beside the records that the tenant has now. */
  const setLimit = async (forSpans: number) => {
    const body = { storedBytes: (await bytesOfRecords()) + forSpans };
    await server.ok('PUT', `/v1/tenants/${tenantId}/limits`, { as: server.admin, body });
  };
  const bytesOf = async ({ principal }: { principal: string }): Promise<number> => {
    const accounts: { account: string; storedBytes: number }[] = (await usage()).largestAccounts;
    return accounts.find(({ account: name }) => name === principal)?.storedBytes ?? 0;
  };
  return { tenantId, greedy, other, usage, setLimit, bytesOf, bytesOfSpans };
}

/** Sends a span with random hex digits, which compress to half of their size. A single text would be cut to a KiB. */
function sendBytes({ key }: { key: string }, { bytes, traceId = newTraceId() }: { bytes: number; traceId?: string }) {
  const notes = Array.from({ length: bytes / KIB }, (_, index) => [
    `note_${index}`,
    randomBytes(KIB / 2).toString('hex'),
  ]);
  const attributes = { 'gen_ai.provider.name': 'openai', ...Object.fromEntries(notes) };
  const spans = [{ ...chat('gpt-5', attributes), traceId, spanId: randomBytes(8).toString('hex') }];
  return server.call('POST', '/v1/traces', { as: { key }, body: exportRequest(spans) });
}

async function keepContent(tenantId: string, settings: object = {}): Promise<void> {
  const body = { settings: { captureContent: true, ...settings } };
  await server.ok('PUT', `/v1/tenants/${tenantId}`, { as: server.admin, body });
}

test('an account that only sends telemetry fills at most half of the stored bytes, and others can still send', async () => {
  const { tenantId, greedy, other, usage, setLimit, bytesOf, bytesOfSpans } = await tenantWithSenders();
  await keepContent(tenantId);
  // Creates the records about the model. The service counts records from time to time, so new ones would lower the room later.
  await sendBytes(greedy, { bytes: KIB });
  await setLimit(100 * KIB);
  let refused: Awaited<ReturnType<typeof sendBytes>> | undefined;
  for (let sent = 0; sent < 100 && refused === undefined; sent += 1) {
    const answer = await sendBytes(greedy, { bytes: 4 * KIB });
    if (answer.status !== 200) refused = answer;
  }
  expect(refused?.status).toBe(409);
  const said =
    /^The account has (\d+) stored bytes, and the tenant has (\d+) of (\d+) free\. An account may send spans and log records only while/;
  const [own = 0, free = 0, limit = 0] = said.exec(refused?.body.message)?.slice(1).map(Number) ?? [];
  const ofGreedy = await bytesOf(greedy);
  expect([ofGreedy, limit]).toEqual([own, (await usage()).storedBytes.limit]);
  // At most half of what the records leave.
  expect(ofGreedy).toBeGreaterThan(40 * KIB);
  expect(ofGreedy).toBeLessThanOrEqual(free);
  expect(own + free).toBeLessThan(limit);
  expect((await sendBytes(other, { bytes: 4 * KIB })).status).toBe(200);
  expect((await sendBytes(greedy, { bytes: 4 * KIB })).status).toBe(409);
  const { largestAccounts } = await usage();
  expect(largestAccounts).toEqual([
    { account: greedy.principal, storedBytes: ofGreedy },
    { account: other.principal, storedBytes: await bytesOf(other) },
  ]);
  expect(ofGreedy + (await bytesOf(other))).toBe(await bytesOfSpans());
});

test('log records that report calls ask for the share of the account as spans do', async () => {
  const { tenantId, greedy, other, setLimit, bytesOf } = await tenantWithSenders();
  await keepContent(tenantId, { spanRetentionDays: 30 });
  await sendBytes(greedy, { bytes: 8 * KIB });
  const sendLogs = ({ key }: { key: string }, count: number) => {
    const ids = Array.from({ length: count }, () => unique('request'));
    return server.call('POST', '/v1/logs', { as: { key }, body: modelRequestLogs(...ids) });
  };
  // The account has as many bytes as are free.
  await setLimit(2 * (await bytesOf(greedy)));
  const refused = await sendLogs(greedy, 1);
  expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining('The account has')]);
  expect((await sendLogs(other, 1)).status).toBe(200);
  server.travel(31 * DAY_MS);
  // The trace is past the retention, so it makes room.
  expect((await sendLogs(greedy, 1)).status).toBe(200);
  // Enough for one or two batches of 500 records, and not for the rest.
  await setLimit(600 * KIB);
  const halfway = await sendLogs(greedy, 3000);
  expect(halfway.status).toBe(200);
  const { rejectedLogRecords, errorMessage } = halfway.body.partialSuccess;
  expect(errorMessage).toContain('The account has');
  const counted = 3000 - Number(rejectedLogRecords);
  expect(counted).toBeGreaterThan(0);
  expect(counted % 500).toBe(0);
});

test('traces that are past the retention are removed before an account is refused', async () => {
  const { tenantId, greedy, setLimit, bytesOf } = await tenantWithSenders();
  await keepContent(tenantId, { spanRetentionDays: 30 });
  expect((await sendBytes(greedy, { bytes: 4 * KIB })).status).toBe(200);
  await setLimit(10 * KIB);
  expect((await sendBytes(greedy, { bytes: 8 * KIB })).status).toBe(409);
  server.travel(31 * DAY_MS);
  expect((await sendBytes(greedy, { bytes: 8 * KIB })).status).toBe(200);
  expect(await bytesOf(greedy)).toBeGreaterThan(4 * KIB);
  expect(await bytesOf(greedy)).toBeLessThan(6 * KIB);
});

test('a block of more spans than one removal takes makes room before an account is refused', async () => {
  const { tenantId, greedy, setLimit, bytesOf } = await tenantWithSenders();
  await keepContent(tenantId, { spanRetentionDays: 30 });
  const spans = Array.from({ length: 600 }, () => ({
    ...chat('gpt-5', { 'gen_ai.provider.name': 'openai' }),
    traceId: newTraceId(),
    spanId: randomBytes(8).toString('hex'),
  }));
  await server.ok('POST', '/v1/traces', { as: greedy, body: exportRequest(spans) });
  const before = await bytesOf(greedy);
  await setLimit(before + KIB);
  expect((await sendBytes(greedy, { bytes: 8 * KIB })).status).toBe(409);
  server.travel(31 * DAY_MS);
  expect((await sendBytes(greedy, { bytes: 8 * KIB })).status).toBe(200);
  expect(await bytesOf(greedy)).toBeLessThan(before);
});

test('a request that reaches the limit halfway is a partial success', async () => {
  const { greedy, setLimit, bytesOfSpans } = await tenantWithSenders();
  const spans = Array.from({ length: 6000 }, () => ({
    ...chat('gpt-5', { 'gen_ai.provider.name': 'openai' }),
    traceId: newTraceId(),
    spanId: randomBytes(8).toString('hex'),
  }));
  const send = (some: typeof spans) =>
    server.call('POST', '/v1/traces', { as: { key: greedy.key }, body: exportRequest(some) });
  expect((await send(spans.slice(0, 2000))).status).toBe(200);
  // After about 2,000 more spans the account has as many bytes as are free.
  await setLimit((await bytesOfSpans()) * 4);
  const answer = await send(spans.slice(2000));
  expect(answer.status).toBe(200);
  const { rejectedSpans, errorMessage } = answer.body.partialSuccess;
  expect(errorMessage).toContain('The account has');
  const rejected = Number(rejectedSpans);
  expect(rejected).toBeGreaterThan(1000);
  expect(rejected).toBeLessThan(3000);
  // It says exactly what was stored.
  const statusOf = async (index: number) =>
    (await server.call('GET', `/v1/traces/${spans[index]?.traceId}/spans`, { as: server.admin })).status;
  expect(await statusOf(6000 - rejected - 1)).toBe(200);
  expect(await statusOf(6000 - rejected)).toBe(404);
});

test('removing a trace gives back to each account what it stored in it', async () => {
  const { tenantId, greedy, other, bytesOf, bytesOfSpans } = await tenantWithSenders();
  await keepContent(tenantId, { spanRetentionDays: 30 });
  const traceId = newTraceId();
  await sendBytes(other, { bytes: 8 * KIB, traceId });
  const ofOther = await bytesOf(other);
  // Many small spans in the trace of another account must not change what that account gets back.
  for (let sent = 0; sent < 5; sent += 1) await sendBytes(greedy, { bytes: 0, traceId });
  await sendBytes(greedy, { bytes: 4 * KIB });
  expect(await bytesOf(other)).toBe(ofOther);
  server.travel(20 * DAY_MS);
  await sendBytes(other, { bytes: 1 * KIB });
  const ofLastTrace = (await bytesOf(other)) - ofOther;
  server.travel(11 * DAY_MS);
  await removeOldTraces(server.services);
  expect(await bytesOf(greedy)).toBe(0);
  expect(await bytesOf(other)).toBe(ofLastTrace);
  expect(await bytesOfSpans()).toBe(ofLastTrace);
});
