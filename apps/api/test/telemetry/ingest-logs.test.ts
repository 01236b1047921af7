import { afterAll, beforeAll, expect, test } from 'vitest';
import type { InterpretedRecord } from '../../src/telemetry/calls/interpreted-record.ts';
import { ingestLogs } from '../../src/telemetry/ingest/ingest-logs.ts';
import { newTenant } from '../governance/loop-support.ts';
import { accountWithKey, unique } from '../support/people.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { factsOf } from './calls/facts.ts';
import { all, exportRequest, toolRun } from './traces/sending.ts';
import { principalIn } from '../support/principals.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

function recordOf(
  tool: string,
  fields: Partial<InterpretedRecord> = {},
  callId: string | null = null,
): InterpretedRecord {
  return {
    reading: { dialect: 'test', facts: factsOf({ tool, callId }), uses: [{ kind: 'tool', name: tool }] },
    serviceName: 'coding-agent',
    environment: null,
    time: '2026-01-02T03:04:05.000000000Z',
    durationMs: 12,
    failed: false,
    traceId: null,
    spanId: null,
    digest: unique('digest'),
    ...fields,
  };
}

/** A new tenant with a service account that sends log records. */
async function newSender() {
  const tenant = await newTenant(server);
  const account = await accountWithKey(server, { tenantId: tenant.tenantId }, ['traces:write']);
  const { tenantId } = tenant;
  const { id, keyId } = account;
  const grants = [{ tenantId, subTenantId: null, scopes: ['traces:write' as const] }];
  const principal = principalIn(tenantId, { id, scheme: 'api_key', keyId, grants });
  const take = (records: InterpretedRecord[]) =>
    ingestLogs({ services: server.services, principal }, async () => ({
      reporting: records,
      received: records.length,
      rejected: 0,
      reasons: [],
      scopes: [],
    }));
  const occurrences = async (name: string) => {
    const observed = await all(server, `/v1/runtime-observations?name=${name}`, tenant.operator);
    return observed.map((one) => one.occurrences);
  };
  return { account, take, occurrences, tenantId: tenant.tenantId };
}

test('records that report calls are aggregated in batches, and a request that is sent again counts once', async () => {
  const { take, occurrences } = await newSender();
  const tool = unique('tool');
  const records = Array.from({ length: 1200 }, () => recordOf(tool));
  for (let round = 0; round < 2; round += 1) expect(await take(records)).toBeNull();
  expect(await occurrences(tool)).toEqual([1200]);
});

test.each(['span', 'record'])('a call that a span and a record report counts once, the %s first', async (first) => {
  const { account, take, occurrences } = await newSender();
  // Keys of calls in spans are stored once the tenant has sent log records.
  await take([recordOf(unique('tool'))]);
  const tool = unique('tool');
  const callId = unique('call');
  const steps = {
    span: () =>
      server.ok('POST', '/v1/traces', {
        as: account,
        body: exportRequest([toolRun(tool, { 'gen_ai.tool.call.id': callId })]),
      }),
    record: () => take([recordOf(tool, {}, callId)]),
  };
  await (first === 'span' ? steps.span() : steps.record());
  await (first === 'span' ? steps.record() : steps.span());
  expect(await occurrences(tool)).toEqual([1]);
});

test.each(['span', 'record'])(
  'Gemini CLI: a tool and its declared server with underscores in their names are found, the %s first',
  async (first) => {
    const { account, take, tenantId } = await newSender();
    const as = await accountWithKey(server, { tenantId });
    const provider = await server.ok('POST', '/v1/providers', { as, body: { name: 'second_server', kind: 'mcp' } });
    const item = { kind: 'tool', name: 'get_sum', status: 'blocked' };
    await server.ok('POST', `/v1/providers/${provider.id}/inventory`, { as, body: item });
    const span = {
      name: 'tool_call',
      scope: 'gemini-cli',
      attributes: {
        'gen_ai.operation.name': 'tool_call',
        'gen_ai.tool.name': 'mcp_second_server_get_sum',
        'gen_ai.tool.call_id': 'call_1',
      },
    };
    const facts = factsOf({ tool: 'get_sum', toolServer: 'second_server', callId: 'call_1' });
    const record = recordOf('get_sum');
    const steps = [
      () => server.ok('POST', '/v1/traces', { as: account, body: exportRequest([span]) }),
      () => take([{ ...record, reading: { ...record.reading, dialect: 'gemini-cli', facts } }]),
    ];
    for (const send of first === 'span' ? steps : steps.toReversed()) await send();
    const observed = await all(server, '/v1/runtime-observations', as);
    expect(observed).toMatchObject([{ providerId: provider.id, name: 'get_sum', occurrences: 1 }]);
    expect(observed[0].risk.factors).toContainEqual(expect.objectContaining({ factor: 'blocked_item' }));
  },
);

test.each(['span', 'record'])(
  'a tool whose name has many words, and whose server only the record names, is found, the %s first',
  async (first) => {
    const { account, take, tenantId } = await newSender();
    const span = {
      name: 'tool_call',
      scope: 'gemini-cli',
      attributes: {
        'gen_ai.operation.name': 'tool_call',
        'gen_ai.tool.name': 'mcp_my_very_own_server_get_the_sum',
        'gen_ai.tool.call_id': 'call_1',
      },
    };
    const facts = factsOf({ tool: 'get_the_sum', toolServer: 'my-very-own-server', callId: 'call_1' });
    const record = recordOf('get_the_sum');
    const steps = [
      () => server.ok('POST', '/v1/traces', { as: account, body: exportRequest([span]) }),
      () => take([{ ...record, reading: { ...record.reading, dialect: 'gemini-cli', facts } }]),
    ];
    for (const send of first === 'span' ? steps : steps.toReversed()) await send();
    const counts = await server.services.db
      .selectFrom('runtime_observations')
      .select('occurrences')
      .where('tenant_id', '=', tenantId)
      .where('occurrences', '>', 0)
      .execute();
    expect(counts).toEqual([{ occurrences: 1 }]);
  },
);

test('the keys of a record are few, whatever the name of its tool, and count as stored bytes', async () => {
  const { take, tenantId } = await newSender();
  const { db, tenantLimits } = server.services;
  const name = `mcp_${'a1_b2_c3_d4_'.repeat(20)}z`;
  const facts = factsOf({ tool: name, callId: 'call_1', conversationId: 'conversation_1' });
  const inSpan = { failed: true, traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
  const record = recordOf(name, inSpan);
  const room = async () => (await tenantLimits.roomFor(db, tenantId, 'storedBytes', 1)).room;
  const before = await room();
  await take([{ ...record, reading: { ...record.reading, facts } }]);
  const keys = await db.selectFrom('telemetry_calls').select('call_key').where('tenant_id', '=', tenantId).execute();
  // For three names: in the conversation, in the trace, and for signals with neither. Each one again for the failure, and one more
  // for that in the span. For the failure without a name: three.
  expect(keys).toHaveLength(3 * 3 + 3 * 4 + 3);
  expect(before - (await room())).toBe(keys.length * 300);
});

test('the keys of a span count as stored bytes', async () => {
  const { account, tenantId } = await newSender();
  const { db, tenantLimits } = server.services;
  const room = async () => (await tenantLimits.roomFor(db, tenantId, 'storedBytes', 1)).room;
  const before = await room();
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'echo',
    'gen_ai.tool.call.id': '1',
  };
  const span = { name: 'tool_call', scope: 'gemini-cli', attributes };
  await server.ok('POST', '/v1/traces', { as: account, body: exportRequest([span]) });
  const [stored] = await db
    .selectFrom('span_blocks')
    .select('stored_bytes')
    .where('tenant_id', '=', tenantId)
    .execute();
  const keys = await db.selectFrom('telemetry_calls').select('call_key').where('tenant_id', '=', tenantId).execute();
  expect(keys.length).toBeGreaterThan(0);
  expect(before - (await room())).toBe((stored?.stored_bytes ?? 0) + keys.length * 300);
});

test('records that report calls are refused once the tenant reached its storage limit', async () => {
  const { take, occurrences, tenantId } = await newSender();
  const tool = unique('tool');
  const setLimit = (storedBytes: number | null) =>
    server.ok('PUT', `/v1/tenants/${tenantId}/limits`, { as: server.admin, body: { storedBytes } });
  await setLimit(0);
  await expect(take([recordOf(tool)])).rejects.toThrow('The tenant has reached its limit of 0 for storedBytes');
  expect(await occurrences(tool)).toEqual([]);
  // Records that report no call store nothing.
  expect(await take([])).toBeNull();
  await setLimit(null);
  expect(await take([recordOf(tool)])).toBeNull();
  expect(await occurrences(tool)).toEqual([1]);
});

test.each(['1e308', '9e15', '1e14', 'Infinity', '-1', 'NaN', ''])(
  'regression: a record of a call that took %s milliseconds counts with at most 7 days',
  async (duration) => {
    const tenant = await newTenant(server);
    const { key } = await accountWithKey(server, { tenantId: tenant.tenantId }, ['traces:write']);
    const attributes = Object.entries({
      'event.name': 'gemini_cli.tool_call',
      function_name: 'search',
      duration_ms: duration,
    });
    const body = {
      resourceLogs: [
        {
          scopeLogs: [
            {
              scope: { name: 'gemini-cli' },
              logRecords: [
                {
                  timeUnixNano: String(BigInt(server.services.now().getTime()) * 1_000_000n),
                  attributes: attributes.map(([name, stringValue]) => ({ key: name, value: { stringValue } })),
                },
              ],
            },
          ],
        },
      ],
    };
    expect(await server.ok('POST', '/v1/logs', { as: { key }, body })).toEqual({});
    const week = 7 * 24 * 3600 * 1000;
    const [seen] = await all(server, '/v1/runtime-observations?name=search', tenant.operator);
    expect(server.services.now().getTime() - Date.parse(seen.firstSeenAt)).toBeLessThanOrEqual(week + 60_000);
  },
);
