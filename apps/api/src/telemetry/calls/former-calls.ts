import type { CallSpan, CallUse } from './call-span.ts';

/*
 * The form in which call spans were stored before `stored-calls.ts`: JSON arrays with fields in a fixed order. Traces from that
 * time still have it.
 */

type Stored = { v: 2; texts: string[]; shapes: StoredShape[]; since: number; spans: StoredSpan[] };
type Text = number | null;
type StoredSpan = [
  spanId: string,
  /** A number is the index of the parent in `spans`. */
  parentSpanId: string | number | null,
  callId: string | null,
  /** Microseconds since `since`. */
  start: number,
  duration: number,
  shape: number,
  inputTokens: number | null,
  outputTokens: number | null,
];
type StoredShape = [
  /** Null if it is the start of the span. */
  countedAt: number | null,
  failed: 0 | 1,
  texts: [
    scope: Text,
    spanName: Text,
    serviceName: Text,
    agent: Text,
    serverAddress: Text,
    operation: Text,
    /** Shapes from before it was read lack it. */
    environment?: Text,
  ],
  uses: StoredUse[],
];
type StoredUse = [
  texts: [kind: Text, name: Text, written: Text, responseModel: Text, server: Text],
  provider: [id: Text, name: Text, kind: Text],
  numbers: [certainty: number, isMcp: 0 | 1, isCounted: 0 | 1],
];

/** Decodes call spans from JSON. Spans of one shape share one `uses` array. */
export function decodeFormerCalls(value: Uint8Array): CallSpan[] {
  const { texts, shapes, since, spans } = JSON.parse(Buffer.from(value).toString('utf8')) as Stored;
  const text = (index: Text) => (index === null ? null : (texts[index] ?? null));
  const decoded = shapes.map((shape) => decodeShape(shape, text));
  return spans.map(([spanId, parent, callId, offset, duration, shape, inputTokens, outputTokens]) => {
    const shared = decoded[shape];
    if (!shared) throw new Error('a stored call span has an unknown shape');
    const start = since + offset;
    return {
      spanId,
      parentSpanId: typeof parent === 'number' ? (spans[parent]?.[0] ?? null) : parent,
      callId,
      start,
      end: start + duration,
      countedAt: shared.countedAt ?? Math.floor(start / 1000),
      scope: shared.scope,
      spanName: shared.spanName,
      serviceName: shared.serviceName,
      environment: shared.environment,
      agent: shared.agent,
      serverAddress: shared.serverAddress,
      operation: shared.operation,
      failed: shared.failed,
      inputTokens,
      outputTokens,
      uses: shared.uses,
      tokensOf: null,
    };
  });
}

type Shape = Omit<
  CallSpan,
  'spanId' | 'parentSpanId' | 'callId' | 'start' | 'end' | 'countedAt' | 'inputTokens' | 'outputTokens' | 'tokensOf'
> & { countedAt: number | null };

function decodeShape([countedAt, failed, words, uses]: StoredShape, text: (index: Text) => string | null): Shape {
  const [scope, spanName, serviceName, agent, serverAddress, operation, environment] = words.map((word) =>
    text(word ?? null),
  );
  return {
    countedAt,
    failed: failed === 1,
    scope: scope ?? '',
    spanName: spanName ?? '',
    serviceName: serviceName ?? null,
    environment: environment ?? null,
    agent: agent ?? null,
    serverAddress: serverAddress ?? null,
    operation: operation ?? null,
    uses: uses.map((use) => decodeUse(use, text)),
  };
}

function decodeUse([words, provider, numbers]: StoredUse, text: (index: Text) => string | null): CallUse {
  const [kind, name, written, responseModel, server] = words.map(text);
  const [id, providerName, providerKind] = provider.map(text);
  const [certainty, isMcp, isCounted] = numbers;
  return {
    kind: kind as CallUse['kind'],
    name: name ?? '',
    written: written ?? '',
    responseModel: responseModel ?? null,
    server: server ?? null,
    provider: { id: id ?? '', name: providerName ?? '', kind: providerKind as CallUse['provider']['kind'] },
    certainty,
    isMcp: isMcp === 1,
    isOfModel: false,
    isCounted: isCounted === 1,
    isFailureCounted: isCounted === 1,
    times: 1,
  };
}
