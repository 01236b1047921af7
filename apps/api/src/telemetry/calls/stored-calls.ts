import type { CallSpan, CallUse } from './call-span.ts';

/*
 * The compact form in which call spans are stored with the blocks of a trace: JSON arrays with fields in a fixed order. Every
 * text is stored once. Many spans of a trace differ only in ids, times and tokens. The other fields are their shape, which is
 * also stored once.
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

export function encodeCalls(spans: readonly CallSpan[]): Uint8Array {
  const texts = new Map<string, number>();
  const textOf = (text: string | null): Text => {
    if (text === null) return null;
    let known = texts.get(text);
    if (known === undefined) texts.set(text, (known = texts.size));
    return known;
  };
  const shapes = new Map<string, number>();
  const shapeOf = (span: CallSpan): number => {
    const shape = JSON.stringify(shapeOfSpan(span, textOf));
    let known = shapes.get(shape);
    if (known === undefined) shapes.set(shape, (known = shapes.size));
    return known;
  };
  const positions = new Map(spans.map(({ spanId }, index) => [spanId, index]));
  const since = spans[0]?.start ?? 0;
  const stored = spans.map(
    ({ spanId, parentSpanId, callId, start, end, inputTokens, outputTokens }, index): StoredSpan => {
      const position = parentSpanId === null ? undefined : positions.get(parentSpanId);
      const parent = position === undefined ? parentSpanId : position;
      const shape = shapeOf(spans[index] as CallSpan);
      return [spanId, parent, callId, start - since, end - start, shape, inputTokens, outputTokens];
    },
  );
  // The shapes are JSON already, so they are inserted as they are.
  const head = `"v":2,"texts":${JSON.stringify([...texts.keys()])},"shapes":[${[...shapes.keys()].join()}]`;
  return Buffer.from(`{${head},"since":${since},"spans":${JSON.stringify(stored)}}`);
}

function shapeOfSpan(span: CallSpan, textOf: (text: string | null) => Text): StoredShape {
  return [
    span.countedAt === Math.floor(span.start / 1000) ? null : span.countedAt,
    span.failed ? 1 : 0,
    [
      textOf(span.scope),
      textOf(span.spanName),
      textOf(span.serviceName),
      textOf(span.agent),
      textOf(span.serverAddress),
      textOf(span.operation),
      textOf(span.environment),
    ],
    span.uses.map(
      (use): StoredUse => [
        [textOf(use.kind), textOf(use.name), textOf(use.written), textOf(use.responseModel), textOf(use.server)],
        [textOf(use.provider.id), textOf(use.provider.name), textOf(use.provider.kind)],
        [use.certainty, use.isMcp ? 1 : 0, use.isCounted ? 1 : 0],
      ],
    ),
  ];
}

/** Decodes call spans. Spans of one shape share one `uses` array. */
export function decodeCalls(value: Uint8Array): CallSpan[] {
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
    };
  });
}

type Shape = Omit<
  CallSpan,
  'spanId' | 'parentSpanId' | 'callId' | 'start' | 'end' | 'countedAt' | 'inputTokens' | 'outputTokens'
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
    isCounted: isCounted === 1,
  };
}
