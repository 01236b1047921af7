import type { CallSpan, CallUse } from '../../../src/telemetry/calls/call-span.ts';
import { type Call, resolve } from '../../../src/telemetry/calls/resolve.ts';

/** A span of a trace as tests write it: one that reports calls, or one in between without a call. */
export type TestSpan = { id: string; parent?: string | null; span: CallSpan | null };

/** Times are in milliseconds. */
type SpanOptions = Partial<Omit<CallSpan, 'spanId' | 'parentSpanId' | 'uses'>> & { parent?: string | null };
type UseOptions = Partial<Omit<CallUse, 'kind' | 'name' | 'provider'>> & { provider?: string };

export function use(kind: CallUse['kind'], name: string, options: UseOptions = {}): CallUse {
  const { provider = 'service', ...rest } = options;
  return {
    kind,
    name,
    written: name,
    responseModel: null,
    provider: { id: provider, name: provider, kind: 'agent_runtime' },
    server: null,
    certainty: provider === 'service' ? 0 : 3,
    isMcp: false,
    isOfModel: false,
    isCounted: false,
    isFailureCounted: false,
    times: 1,
    ...rest,
  };
}

/** A span with a use; without a use, it reports no call. */
export function span(id: string, uses: CallUse | CallUse[] | null, options: SpanOptions = {}): TestSpan {
  const { parent = null, ...rest } = options;
  if (uses === null) return { id, parent, span: null };
  const { start = 0, end = start + 10 } = rest;
  const [startUs, endUs] = [start * 1000, end * 1000];
  return {
    id,
    parent,
    span: {
      spanId: id,
      parentSpanId: parent,
      scope: 'scope',
      tokensOf: null,
      spanName: `span ${[uses].flat()[0]?.name ?? ''}`,
      serviceName: 'service',
      environment: null,
      countedAt: start,
      failed: false,
      agent: null,
      callId: null,
      inputTokens: null,
      outputTokens: null,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      reasoningTokens: null,
      serverAddress: null,
      operation: null,
      ...rest,
      start: startUs,
      end: endUs,
      uses: [uses].flat(),
    },
  };
}

export function resolved(spans: readonly TestSpan[]): Call[] {
  const parents = new Map(spans.map(({ id, parent = null }) => [id, parent]));
  return resolve(
    parents,
    spans.flatMap((one) => one.span ?? []),
  );
}

/** Each call in a line: `tool echo at everything by weather_agent`. */
export function describeCalls(calls: readonly Call[]): string[] {
  return calls.map(({ kind, name, provider, agent }) => `${kind} ${name} at ${provider.name} by ${agent}`).toSorted();
}
