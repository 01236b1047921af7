import type { CallSpan, CallUse } from './call-span.ts';

/*
 * The spans of a trace that tell of calls, as they are stored with its blocks: lists in a fixed order, and every text once.
 * A trace has many spans of few names.
 */

type Stored = { v: 1; texts: string[]; spans: StoredSpan[] };
type Text = number | null;
type StoredSpan = [
  ids: [spanId: string, parentSpanId: string | null, callId: string | null],
  times: [start: number, duration: number, countedAt: number],
  texts: [scope: Text, spanName: Text, serviceName: Text, agent: Text, serverAddress: Text, operation: Text],
  numbers: [failed: 0 | 1, inputTokens: number | null, outputTokens: number | null],
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
    const known = texts.get(text) ?? texts.size;
    texts.set(text, known);
    return known;
  };
  const stored: Stored = {
    v: 1,
    spans: spans.map(
      (span): StoredSpan => [
        [span.spanId, span.parentSpanId, span.callId],
        [span.start, span.end - span.start, span.countedAt],
        [
          textOf(span.scope),
          textOf(span.spanName),
          textOf(span.serviceName),
          textOf(span.agent),
          textOf(span.serverAddress),
          textOf(span.operation),
        ],
        [span.failed ? 1 : 0, span.inputTokens, span.outputTokens],
        span.uses.map(
          (use): StoredUse => [
            [textOf(use.kind), textOf(use.name), textOf(use.written), textOf(use.responseModel), textOf(use.server)],
            [textOf(use.provider.id), textOf(use.provider.name), textOf(use.provider.kind)],
            [use.certainty, use.isMcp ? 1 : 0, use.isCounted ? 1 : 0],
          ],
        ),
      ],
    ),
    texts: [],
  };
  stored.texts = [...texts.keys()];
  return Buffer.from(JSON.stringify(stored));
}

export function decodeCalls(value: Uint8Array): CallSpan[] {
  const { texts, spans } = JSON.parse(Buffer.from(value).toString('utf8')) as Stored;
  const text = (index: Text) => (index === null ? null : (texts[index] ?? null));
  return spans.map(([ids, times, words, numbers, uses]) => {
    const [spanId, parentSpanId, callId] = ids;
    const [start, duration, countedAt] = times;
    const [scope, spanName, serviceName, agent, serverAddress, operation] = words.map(text);
    const [failed, inputTokens, outputTokens] = numbers;
    return {
      spanId,
      parentSpanId,
      callId,
      start,
      end: start + duration,
      countedAt,
      scope: scope ?? '',
      spanName: spanName ?? '',
      serviceName: serviceName ?? null,
      agent: agent ?? null,
      serverAddress: serverAddress ?? null,
      operation: operation ?? null,
      failed: failed === 1,
      inputTokens,
      outputTokens,
      uses: uses.map((use) => decodeUse(use, text)),
    };
  });
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
