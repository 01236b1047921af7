import type { TraceAddition } from '@quartermaster/db/repositories/traces.ts';
import { type SpanDocument, type SpanRow, spanWriter } from '@quartermaster/db/span-document.ts';
import type { OtlpSpan } from '../otlp/span.ts';
import type { FoldedSpan } from '../../runtime-observations/sightings.ts';
import { contentFilter } from '../content/content.ts';
import type { Facts } from '../dialects/facts.ts';
import { readSpan } from '../dialects/read.ts';
import { visibleName } from '../dialects/visible-name.ts';

/** A span as it is stored, with what it adds to its trace and to observations. Plain data: it may cross threads. */
export type PreparedSpan = SpanRow & {
  parentSpanId: string | null;
  name: string;
  serviceName: string | null;
  endTime: string;
  failed: boolean;
  /** Of the document, in bytes. */
  storedBytes: number;
  folded: FoldedSpan | null;
};

/** Answers what prepares the spans of one batch: everything that can be done before the transaction. */
export function spanPreparer({ keepContent }: { keepContent: boolean }): (span: OtlpSpan) => PreparedSpan {
  const filter = contentFilter({ keepContent });
  const write = spanWriter();
  const visible = new Map<string, string>();

  function visibleOf(serviceName: string | null): string | null {
    if (serviceName === null) return null;
    const known = visible.get(serviceName) ?? visibleName(serviceName);
    visible.set(serviceName, known);
    return known;
  }

  return (span) => {
    // The reader sees the whole span: some names stand in attributes that are content otherwise.
    const { dialect, facts, uses } = readSpan(span);
    const serviceName = serviceNameOf(span);
    const kept = filter(span, dialect);
    const { traceId, spanId, parentSpanId, name, startTime, endTime } = kept;
    const failed = kept.status.code === 'error';
    const document = write(kept, { serviceName, genAi: facts && shownOf(facts) });
    const folded = facts && {
      ...{ traceId, spanId, parentSpanId, serviceName: visibleOf(serviceName), facts, failed },
      uses,
      startedAt: `${startTime.slice(0, 23)}Z`,
    };
    return {
      traceId,
      spanId,
      startTime,
      document,
      parentSpanId,
      name,
      serviceName,
      endTime,
      failed,
      storedBytes: Buffer.byteLength(document),
      folded,
    };
  };
}

/** What spans that were stored add to their traces. */
export function additionsOf(spans: readonly PreparedSpan[]): TraceAddition[] {
  const additions = new Map<string, TraceAddition>();
  for (const span of spans) {
    const { traceId, serviceName, startTime, endTime } = span;
    const known = additions.get(traceId);
    const addition = known ?? {
      traceId,
      rootName: null,
      serviceName,
      startTime,
      endTime,
      spanCount: 0,
      errorCount: 0,
      storedBytes: 0,
    };
    if (span.parentSpanId === null) addition.rootName ??= span.name;
    if (startTime < addition.startTime) addition.startTime = startTime;
    if (endTime > addition.endTime) addition.endTime = endTime;
    addition.spanCount += 1;
    addition.storedBytes += span.storedBytes;
    if (span.failed) addition.errorCount += 1;
    if (!known) additions.set(traceId, addition);
  }
  return [...additions.values()];
}

function shownOf(facts: Facts): SpanDocument['genAi'] {
  const { operation, vendor, model, agent, tool, conversationId, inputTokens, outputTokens } = facts;
  return { operation, provider: vendor, model, agent, tool, conversationId, inputTokens, outputTokens };
}

function serviceNameOf(span: OtlpSpan): string | null {
  const name = span.resource['service.name'];
  return typeof name === 'string' && name !== '' ? name.slice(0, 256).toWellFormed() : null;
}
