import type { Span } from '@quartermaster/contracts/traces.ts';

/** What the text of a span holds: all that is answered of it, but for what stands in columns. */
export type SpanDocument = Omit<
  Span,
  'traceId' | 'spanId' | 'tenantId' | 'subTenantId' | 'createdAt' | 'updatedAt' | 'receivedFrom'
>;

/** A span as its row has it; where it stands, when and from whom it came is the same for a whole batch. */
export type SpanRow = Pick<Span, 'traceId' | 'spanId' | 'startTime'> & { document: string };

type Read = Pick<SpanDocument, 'serviceName' | 'genAi'>;

/**
 * Writes the texts of spans, once and for good: nothing parses one until somebody reads the span. For one batch: the
 * resource and scope that its spans share are written once.
 */
export function spanWriter(): (span: Omit<SpanDocument, keyof Read>, read: Read) => string {
  const texts = new WeakMap<object, string>();

  function textOf(shared: object): string {
    let text = texts.get(shared);
    if (text === undefined) {
      text = JSON.stringify(shared);
      texts.set(shared, text);
    }
    return text;
  }

  return (span, { serviceName, genAi }) => {
    const { parentSpanId, name, kind, startTime, endTime, durationMs, status, attributes, events, links } = span;
    // Written out: to copy the rest of a span takes as long as to write it.
    const own = { parentSpanId, name, kind, startTime, endTime, durationMs, status };
    const head = JSON.stringify({ ...own, attributes, events, links, serviceName, genAi }).slice(0, -1);
    return `${head},"scope":${textOf(span.scope)},"resource":${textOf(span.resource)}}`;
  };
}
