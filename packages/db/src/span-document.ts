import type { Span } from '@quartermaster/contracts/traces.ts';

/** A span before it is stored. */
export type NewSpan = Omit<Span, 'tenantId' | 'subTenantId' | 'createdAt' | 'updatedAt' | 'receivedFrom'>;

/** What the text of a span holds: all of it but its ids, which stand in columns. */
export type SpanDocument = Omit<NewSpan, 'traceId' | 'spanId'>;

/** A span as its row has it; where it stands, when and from whom it came is the same for a whole batch. */
export type SpanRow = Pick<NewSpan, 'traceId' | 'spanId' | 'startTime'> & { document: string };

/**
 * Writes spans as text, once and for good: nothing parses it until somebody reads the span. For one batch: the resource and
 * scope that its spans share are written once.
 */
export function spanWriter(): (span: NewSpan) => SpanRow {
  const texts = new WeakMap<object, string>();

  function textOf(shared: object): string {
    let text = texts.get(shared);
    if (text === undefined) {
      text = JSON.stringify(shared);
      texts.set(shared, text);
    }
    return text;
  }

  return ({ traceId, spanId, scope, resource, ...own }) => {
    const head = JSON.stringify(own).slice(0, -1);
    const document = `${head},"scope":${textOf(scope)},"resource":${textOf(resource)}}`;
    return { traceId, spanId, startTime: own.startTime, document };
  };
}
