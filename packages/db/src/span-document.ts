import { hash } from 'node:crypto';
import type { Span } from '@quartermaster/contracts/traces.ts';
import type { BlockSpan } from './span-block.ts';

/** What a span says itself: all that is answered of it, but for its places and times of receipt. */
export type SpanDocument = Omit<
  Span,
  'traceId' | 'spanId' | 'tenantId' | 'subTenantId' | 'createdAt' | 'updatedAt' | 'receivedFrom' | 'conflicting'
>;

type Read = Pick<SpanDocument, 'serviceName' | 'genAi'>;
type WrittenSpan = Omit<SpanDocument, keyof Read>;

/** A text that spans share. */
type SharedText = { number: number; digest: string };

/** What is stored of a span besides its ids. */
export type SpanTexts = Pick<BlockSpan, 'line' | 'resource' | 'scope' | 'digest'>;

/**
 * Writes the texts of spans, once and for good: they are answered as they are written here. For one batch: the resources and
 * scopes that its spans share are written once.
 *
 * @returns the writer, and the shared texts, which spans refer to by their numbers
 */
export function spanWriter(): { write: (span: WrittenSpan, read: Read) => SpanTexts; texts: string[] } {
  const texts: string[] = [];
  const known = new WeakMap<object, SharedText>();

  function textOf(shared: object): SharedText {
    let text = known.get(shared);
    if (text === undefined) {
      const json = JSON.stringify(shared);
      text = { number: texts.push(json) - 1, digest: hash('sha256', json, 'hex') };
      known.set(shared, text);
    }
    return text;
  }

  return {
    texts,
    write(span, { serviceName, genAi }) {
      const { parentSpanId, name, kind, startTime, endTime, durationMs, status, attributes, events, links } = span;
      // Ids and the start time are in the index.
      const line = JSON.stringify({
        name,
        kind,
        endTime,
        durationMs,
        status,
        attributes,
        events,
        links,
        serviceName,
        genAi,
      });
      const resource = textOf(span.resource);
      const scope = textOf(span.scope);
      const content = `${parentSpanId ?? ''} ${startTime} ${resource.digest} ${scope.digest} ${line}`;
      return {
        line,
        resource: resource.number,
        scope: scope.number,
        digest: hash('sha256', content, 'hex').slice(0, 16),
      };
    },
  };
}
