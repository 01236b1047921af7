import {
  context,
  DiagLogLevel,
  diag,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accountWithKey, unique } from '../../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../../support/server.ts';

const EXPORTERS = { protobuf: ProtobufExporter, json: JsonExporter };
const COMBINATIONS = (['protobuf', 'json'] as const).flatMap((encoding) =>
  (['gzip', 'none'] as const).map((compression) => ({ encoding, compression })),
);
type Combination = (typeof COMBINATIONS)[number];

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** The spans that an SDK records while `work` runs. */
async function recorded(work: (tracer: Tracer) => void): Promise<ReadableSpan[]> {
  const memory = new InMemorySpanExporter();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'travel-agent', 'process.pid': 42, tags: ['a', 'b'] }),
    spanProcessors: [new SimpleSpanProcessor({ exporter: memory })],
  });
  work(provider.getTracer('test-instrumentation', '1.2.3'));
  await provider.forceFlush();
  return memory.getFinishedSpans();
}

/** Exports spans as an application does. Returns the result code of the exporter: 0 is success. */
async function exported({ encoding, compression }: Combination, key: string, spans: ReadableSpan[]) {
  const exporter = new EXPORTERS[encoding]({
    url: `${server.url}/v1/traces`,
    headers: { 'x-api-key': key },
    // The package that exports the enumeration is not a dependency of ours.
    compression: compression as never,
  });
  const result = await new Promise<{ code: number; error?: Error }>((resolve) => exporter.export(spans, resolve));
  await exporter.shutdown();
  return result;
}

/** A turn of an agent: it calls a model, and a tool over MCP. */
function agentTurn(tracer: Tracer): void {
  const agent = tracer.startSpan('invoke_agent planner', {
    kind: SpanKind.INTERNAL,
    startTime: [1_700_000_000, 1],
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'planner' },
  });
  const inAgent = trace.setSpan(context.active(), agent);
  const chat = tracer.startSpan(
    'chat gpt-5',
    {
      kind: SpanKind.CLIENT,
      startTime: [1_700_000_000, 123_456_789],
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-5',
        'gen_ai.conversation.id': 'conversation-1',
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.usage.output_tokens': 34,
        'gen_ai.input.messages': '[{"role":"user","content":"a secret plan"}]',
        'os.name': 'żółć 🦀',
        'of.whole.number': 9_007_199_254_740_991,
        'of.negative.number': -7,
        'of.fraction': 0.125,
        'of.truth': true,
        'gen_ai.response.finish_reasons': ['stop', 'length'],
        'of.numbers': [1, 2.5],
        'of.truths': [true, false],
      },
      links: [
        {
          context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED },
          attributes: { 'gen_ai.token.type': 'retry' },
        },
      ],
    },
    inAgent,
  );
  chat.addEvent('gen_ai.first_token', { n: 1 }, [1_700_000_001, 5]);
  chat.setStatus({ code: SpanStatusCode.ERROR, message: 'rate limited' });
  chat.end([1_700_000_002, 0]);
  const tool = tracer.startSpan(
    'tools/call search',
    {
      kind: SpanKind.CLIENT,
      startTime: [1_700_000_003, 0],
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'search',
        'gen_ai.tool.call.arguments': '{"q":"a secret plan"}',
        'server.address': 'mcp.example.com',
        'server.port': 8443,
      },
    },
    inAgent,
  );
  tool.setStatus({ code: SpanStatusCode.OK });
  tool.end([1_700_000_003, 1_000_000]);
  agent.end([1_700_000_004, 0]);
}

function bySpanName(items: Body[], start: string): Body {
  return items.find((item) => item.name.startsWith(start));
}

describe.each(COMBINATIONS)('spans of the SDK as $encoding, compression $compression', (combination) => {
  test('are returned completely, and what they name is observed', async () => {
    const account = await accountWithKey(server, { tenantId: unique('sdk') });
    const spans = await recorded(agentTurn);
    expect(await exported(combination, account.key, spans)).toEqual({ code: 0 });

    const traceId = spans[0]?.spanContext().traceId ?? '';
    const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as: account });
    const ids = spans.map((span) => span.spanContext().spanId).toSorted();
    expect(items.map((item: Body) => item.spanId).toSorted()).toEqual(ids);
    const agent = bySpanName(items, 'invoke_agent');
    const chat = bySpanName(items, 'chat');
    const tool = bySpanName(items, 'tools/call');

    expect(agent).toMatchObject({ parentSpanId: null, kind: 'internal', status: { code: 'unset', message: null } });
    expect(agent.startTime).toBe('2023-11-14T22:13:20.000000001Z');
    expect(tool).toMatchObject({ parentSpanId: agent.spanId, kind: 'client', status: { code: 'ok', message: null } });
    expect(chat).toEqual({
      traceId,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      parentSpanId: agent.spanId,
      tenantId: account.place.tenantId,
      subTenantId: null,
      name: 'chat gpt-5',
      kind: 'client',
      startTime: '2023-11-14T22:13:20.123456789Z',
      endTime: '2023-11-14T22:13:22.000000000Z',
      durationMs: 1876.543211,
      status: { code: 'error', message: null },
      serviceName: 'travel-agent',
      scope: { name: 'test-instrumentation', version: '1.2.3', attributes: {} },
      resource: {
        'service.name': 'travel-agent',
        'process.pid': 42,
        'quartermaster.omitted': ['tags'],
        'quartermaster.omitted.count': 1,
      },
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-5',
        'gen_ai.conversation.id': 'conversation-1',
        'gen_ai.usage.input_tokens': 12,
        'gen_ai.usage.output_tokens': 34,
        'os.name': 'żółć 🦀',
        'of.whole.number': 9_007_199_254_740_991,
        'of.negative.number': -7,
        'of.fraction': 0.125,
        'of.truth': true,
        'gen_ai.response.finish_reasons': ['stop', 'length'],
        'of.numbers': [1, 2.5],
        'of.truths': [true, false],
        'quartermaster.omitted': ['gen_ai.input.messages', 'status.message'],
        'quartermaster.omitted.count': 2,
      },
      events: [{ name: 'gen_ai.first_token', time: '2023-11-14T22:13:21.000000005Z', attributes: { n: 1 } }],
      links: [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: { 'gen_ai.token.type': 'retry' } }],
      genAi: {
        operation: 'chat',
        provider: 'openai',
        model: 'gpt-5',
        agent: null,
        tool: null,
        conversationId: 'conversation-1',
        inputTokens: 12,
        outputTokens: 34,
      },
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      receivedFrom: account.principal,
      conflicting: false,
    });

    expect(await observed(account.key)).toEqual({
      openai: [{ kind: 'model', name: 'gpt-5', ...seen(account.principal, 'gpt-5', 'chat', { errors: 1 }) }],
      'mcp.example.com': [
        {
          kind: 'tool',
          name: 'search',
          ...seen(account.principal, 'search', 'execute_tool', { address: 'mcp.example.com' }),
        },
      ],
      'travel-agent': [{ kind: 'agent', name: 'planner', ...seen(account.principal, 'planner', 'invoke_agent') }],
    });
  });

  test('contain content only if the tenant captures it', async () => {
    const account = await accountWithKey(server, { tenantId: unique('content') });
    const { tenantId } = account.place;
    for (const captureContent of [false, true]) {
      const body = { settings: { captureContent } };
      await server.ok('PUT', `/v1/tenants/${tenantId}`, { as: server.admin, body });
      const spans = await recorded(agentTurn);
      expect(await exported(combination, account.key, spans)).toEqual({ code: 0 });
      const traceId = spans[0]?.spanContext().traceId ?? '';
      const read = await server.call('GET', `/v1/traces/${traceId}/spans`, { as: account });
      expect(read.text.includes('a secret plan')).toBe(captureContent);
      const chat = bySpanName(read.body.items, 'chat');
      expect(chat.status.message).toBe(captureContent ? 'rate limited' : null);
      expect('gen_ai.input.messages' in chat.attributes).toBe(captureContent);
      const tool = bySpanName(read.body.items, 'tools/call');
      expect('gen_ai.tool.call.arguments' in tool.attributes).toBe(captureContent);
    }
  });

  test('that are partly rejected are reported to the exporter, which does not retry', async () => {
    const account = await accountWithKey(server, { tenantId: unique('partial') });
    const [good, bad] = await recorded((tracer) => {
      for (const name of ['good', 'bad']) tracer.startSpan(name).end();
    });
    if (!good || !bad) throw new Error('two spans were recorded');
    const traceId = good.spanContext().traceId;
    const broken = Object.assign(Object.create(bad), {
      spanContext: () => ({ ...bad.spanContext(), traceId: '0'.repeat(32) }),
    });
    const warnings: string[] = [];
    const silent = () => {};
    const warn = (...texts: unknown[]) => warnings.push(JSON.stringify(texts));
    diag.setLogger({ warn, error: silent, info: silent, debug: silent, verbose: silent }, DiagLogLevel.WARN);
    expect(await exported(combination, account.key, [good, broken])).toEqual({ code: 0 });
    diag.disable();
    expect(warnings.join()).toMatch(/Partial Success.*trace id must be 16 bytes/);
    const { items } = await server.ok('GET', `/v1/traces/${traceId}/spans`, { as: account });
    expect(items).toMatchObject([{ name: 'good' }]);
  });

  test('that are refused cause an error in the exporter', async () => {
    const reader = await accountWithKey(server, { tenantId: unique('refused') }, ['traces:read']);
    const result = await exported(combination, reader.key, await recorded(agentTurn));
    expect(result.code).toBe(1);
  });
});

/** All observations, by the name of their provider. */
async function observed(key: string): Promise<Record<string, Body[]>> {
  const result: Record<string, Body[]> = {};
  const { items: providers } = await server.ok('GET', '/v1/providers', { as: { key } });
  for (const provider of providers) {
    expect(provider).toMatchObject({ status: 'discovered', baseUrl: null });
    const { items } = await server.ok('GET', `/v1/providers/${provider.id}/observations?unknown=true`, { as: { key } });
    result[provider.name] = items.map(({ kind, name, unknown, status, occurrences, evidence, ...rest }: Body) => {
      expect(rest.firstSeenAt).toMatch(/^2023-11-14T22:13:2\d\.\d{3}Z$/);
      expect(rest.providerId).toBe(provider.id);
      return { kind, name, unknown, status, occurrences, evidence };
    });
  }
  return result;
}

function seen(account: string, name: string, operation: string, { address = '', errors = 0 } = {}) {
  return {
    unknown: true,
    status: 'open',
    occurrences: 1,
    evidence: {
      serviceNames: ['travel-agent'],
      // The planner calls the model and the tool, and nobody calls the planner.
      agents: operation === 'invoke_agent' ? [] : ['planner'],
      serverAddresses: address === '' ? [] : [address],
      operations: [operation],
      accounts: [account],
      names: [name],
      responseModels: [],
      environments: [],
      errors,
      deniedReasons: [],
      sources: ['telemetry'],
    },
  };
}
