import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, memberWithToken, unique } from '../../support/people.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { all, newSpanId, newTraceId, nowInNanoseconds, sendSpans } from './sending.ts';

const SECOND = 1_000_000_000n;
const START = 1_700_000_000n * SECOND;

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** A sender in a new tenant. */
function sender(subTenantId?: string, tenantId = unique('reading')) {
  return accountWithKey(server, { tenantId, subTenantId }, ['traces:read', 'traces:write']);
}

describe('GET /v1/traces', () => {
  test('shows the sums of a trace over all of its batches', async () => {
    const as = await sender();
    const traceId = newTraceId();
    const root = newSpanId();
    await sendSpans(server, as, [
      { traceId, name: 'late child', parentSpanId: root, start: START + 5n, end: START + 9n * SECOND, failed: true },
    ]);
    await sendSpans(server, as, [
      { traceId, spanId: root, name: 'the root', start: START, end: START + SECOND },
      { traceId, name: 'child', parentSpanId: root, start: START + 1n, end: START + 2n },
    ]);
    const { items } = await server.ok('GET', '/v1/traces', { as });
    expect(items).toMatchObject([
      {
        traceId,
        rootName: 'the root',
        serviceName: 'travel-agent',
        startTime: '2023-11-14T22:13:20.000000000Z',
        endTime: '2023-11-14T22:13:29.000000000Z',
        spanCount: 3,
        errorCount: 1,
      },
    ]);
  });

  test('lists traces by their start, newest first, in pages that later traces do not change', async () => {
    const as = await sender();
    const sent: string[] = [];
    for (const seconds of [2n, 4n, 0n, 1n, 3n]) {
      const traceId = newTraceId();
      sent[Number(4n - seconds)] = traceId;
      await sendSpans(server, as, [{ traceId, start: START + seconds * SECOND }]);
      server.travel(1000);
    }
    const first = await server.ok('GET', '/v1/traces?limit=2', { as });
    expect(first.items.map((trace: { traceId: string }) => trace.traceId)).toEqual(sent.slice(0, 2));
    server.travel(1000);
    const start = START + 9n * SECOND;
    await sendSpans(server, as, [
      { traceId: newTraceId(), start },
      { traceId: sent[3] ?? '', start },
    ]);
    const second = await server.ok('GET', `/v1/traces?limit=2&cursor=${first.nextCursor}`, { as });
    expect(second.items.map((trace: { traceId: string }) => trace.traceId)).toEqual(sent.slice(2, 4));
    const third = await server.ok('GET', `/v1/traces?limit=2&cursor=${second.nextCursor}`, { as });
    expect(third.items.map((trace: { traceId: string }) => trace.traceId)).toEqual(sent.slice(4));
    expect(third.nextCursor).toBeNull();
    const other = await server.call('GET', `/v1/traces?limit=2&service_name=x&cursor=${first.nextCursor}`, { as });
    expect(other.status).toBe(422);
    expect(other.body.detail[0].loc).toEqual(['query', 'cursor']);
  });

  test('regression: traces that started days ago and arrived now are not among those of the last 24 hours', async () => {
    const as = await sender();
    const now = nowInNanoseconds(server);
    const [old, recent] = [newTraceId(), newTraceId()];
    await sendSpans(server, as, [{ traceId: recent, start: now - 3600n * SECOND }]);
    await sendSpans(server, as, [{ traceId: old, start: now - 5n * 86_400n * SECOND }]);
    const listed = async (query: string) =>
      (await all(server, `/v1/traces?${query}`, as)).map((trace): string => trace.traceId);
    const dayAgo = new Date(Number((now - 86_400n * SECOND) / 1_000_000n)).toISOString();
    expect(await listed(`started_after=${dayAgo}`)).toEqual([recent]);
    expect(await listed(`started_before=${dayAgo}`)).toEqual([old]);
    expect(await listed(`created_after=${dayAgo}`)).toEqual([recent, old]);
    expect(await listed(`created_before=${dayAgo}`)).toEqual([]);
  });

  test('two ranges of starts that follow each other list each trace once, to the nanosecond', async () => {
    const as = await sender();
    const [first, second, third] = [newTraceId(), newTraceId(), newTraceId()];
    await sendSpans(server, as, [
      { traceId: first, start: START - 1n },
      { traceId: second, start: START },
      { traceId: third, start: START + 1n },
    ]);
    const at = '2023-11-14T22:13:20.000Z';
    const listed = async (query: string) =>
      (await all(server, `/v1/traces?limit=1&${query}`, as)).map((trace): string => trace.traceId);
    expect(await listed(`started_before=${at}`)).toEqual([first]);
    expect(await listed(`started_after=${at}`)).toEqual([third, second]);
    expect(await listed(`started_after=${at}&service=travel-agent`)).toEqual([third, second]);
    expect(await listed(`started_after=2023-11-15T03:43:20%2B05:30`)).toEqual([third, second]);
    expect((await server.call('GET', '/v1/traces?started_after=yesterday', { as })).status).toBe(422);
  });

  test('lists all of many traces with the same time', async () => {
    const as = await sender();
    const ids = Array.from({ length: 30 }, () => newTraceId());
    await sendSpans(
      server,
      as,
      ids.map((traceId) => ({ traceId })),
    );
    const listed = await all(server, '/v1/traces?limit=7', as);
    expect(listed.map((trace): string => trace.traceId).toSorted()).toEqual(ids.toSorted());
  });

  test('filters by service, sub-tenant and tenant; without a match the list is empty', async () => {
    const tenantId = unique('reading');
    const wide = await sender(undefined, tenantId);
    const team = await sender('team', tenantId);
    const [a, b] = [newTraceId(), newTraceId()];
    await sendSpans(server, wide, [{ traceId: a, service: 'billing' }]);
    await sendSpans(server, team, [{ traceId: b, service: 'search' }]);
    const listed = async (query: string, as = wide) =>
      (await all(server, `/v1/traces?${query}`, as)).map((trace) => trace.traceId);
    expect(await listed('service_name=billing')).toEqual([a]);
    expect(await listed('sub_tenant_id=team')).toEqual([b]);
    expect(await listed('service_name=nobody')).toEqual([]);
    expect(await listed(`tenant_id=${tenantId}`)).toHaveLength(2);
    expect(await listed('tenant_id=')).toHaveLength(2);
    expect(await listed('', team)).toEqual([b]);
    expect((await server.call('GET', '/v1/traces?tenant_id=default', { as: wide })).status).toBe(403);
    expect((await server.call('GET', '/v1/traces?limit=0', { as: wide })).status).toBe(422);
    expect((await server.call('GET', '/v1/traces?limit=101', { as: wide })).status).toBe(422);
  });
});

describe('GET /v1/traces/{trace_id}/spans', () => {
  test('lists spans by start time, to the nanosecond, in any order of arrival', async () => {
    const as = await sender();
    const traceId = newTraceId();
    const offsets = [5n, 1n, 3n, 2n, 1_000_000_000n, 0n];
    for (const offset of offsets)
      await sendSpans(server, as, [{ traceId, name: `at ${offset}`, start: START + offset }]);
    const { items, nextCursor } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as });
    expect(items.map((span: { name: string }) => span.name)).toEqual([0, 1, 2, 3, 5, 1e9].map((at) => `at ${at}`));
    expect(items[1].startTime).toBe('2023-11-14T22:13:20.000000001Z');
    expect(nextCursor).toBeNull();
  });

  test('lists up to a thousand spans in one page, also spans with the same time in several pages', async () => {
    const as = await sender();
    const traceId = newTraceId();
    const spans = Array.from({ length: 2300 }, (_, index) => ({
      traceId,
      spanId: newSpanId(),
      start: START + BigInt(Math.floor(index / 100)),
    }));
    await sendSpans(server, as, spans);
    const path = `/v1/traces/${traceId}/spans`;
    const first = await server.ok('GET', path, { as });
    expect(first.items).toHaveLength(1000);
    expect(first.nextCursor).toEqual(expect.any(String));
    for (const limit of [1000, 333]) {
      const read = await all(server, `${path}?limit=${limit}`, as);
      expect(read).toHaveLength(2300);
      expect(new Set(read.map((span) => span.spanId)).size).toBe(2300);
      const starts = read.map((span): string => span.startTime);
      expect(starts).toEqual(starts.toSorted());
    }
    expect((await server.ok('GET', `${path}?limit=1`, { as })).items).toHaveLength(1);
    for (const limit of ['0', '1001', '1.5', 'x', '-1']) {
      expect((await server.call('GET', `${path}?limit=${limit}`, { as })).status).toBe(422);
    }
    const foreign = await server.call('GET', `/v1/traces/${newTraceId()}/spans?cursor=${first.nextCursor}`, { as });
    expect(foreign.status).toBe(422);
  });

  test('accepts the id in upper and lower case', async () => {
    const as = await sender();
    const traceId = newTraceId();
    await sendSpans(server, as, [{ traceId }]);
    const { items } = await server.ok('GET', `/v1/traces/${traceId.toUpperCase()}/spans`, { as });
    expect(items).toMatchObject([{ traceId }]);
  });

  test.each([
    '0'.repeat(32),
    'f'.repeat(32),
    'f'.repeat(31),
    'nonsense',
    '%20',
    '%F0%9F%98%80',
    '..%2f..',
    'f'.repeat(120),
  ])('answers 404 for the missing trace %s', async (id) => {
    const answer = await server.call('GET', `/v1/traces/${id}/spans`, { as: server.admin });
    expect(answer.status).toBe(404);
    expect(answer.body.code).toBe('trace_not_found');
  });

  test('answers the same 404 for a trace of another tenant or sub-tenant and for a missing one', async () => {
    const tenantId = unique('reading');
    const team = await sender('team', tenantId);
    const traceId = newTraceId();
    await sendSpans(server, team, [{ traceId }]);
    const path = `/v1/traces/${traceId}/spans`;
    for (const as of [await sender(), await sender('other', tenantId)]) {
      const foreign = await server.call('GET', path, { as });
      const missing = await server.call('GET', `/v1/traces/${newTraceId()}/spans`, { as });
      expect(foreign.status).toBe(404);
      expect({ ...foreign.body, instance: '' }).toEqual({ ...missing.body, instance: '' });
    }
    const viewer = await memberWithToken(server, { tenantId }, 'viewer');
    expect((await server.ok('GET', path, { as: viewer })).items).toHaveLength(1);
    expect((await server.ok('GET', `${path}?sub_tenant_id=team`, { as: viewer })).items).toHaveLength(1);
    expect((await server.call('GET', `${path}?sub_tenant_id=nobody`, { as: viewer })).status).toBe(404);
  });

  test('shows all spans of a trace of several sub-tenants to a caller who reaches them', async () => {
    const tenantId = unique('reading');
    const traceId = newTraceId();
    for (const team of ['a', 'b']) await sendSpans(server, await sender(team, tenantId), [{ traceId, name: team }]);
    const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans?limit=1`, {
      as: await sender('a', tenantId),
    });
    expect(items).toMatchObject([{ name: 'a', subTenantId: 'a' }]);
    const whole = await all(server, `/v1/traces/${traceId}/spans?limit=1`, await sender(undefined, tenantId));
    expect(whole.map((span): string => span.subTenantId).toSorted()).toEqual(['a', 'b']);
  });
});
