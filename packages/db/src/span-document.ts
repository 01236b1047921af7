import { hash } from 'node:crypto';
import type { Span } from '@quartermaster/contracts/traces.ts';
import type { BlockSpan } from './span-block.ts';

/** The content of a span: all members of the API's span except its ids, places and times of receipt. */
export type SpanDocument = Omit<
  Span,
  'traceId' | 'spanId' | 'tenantId' | 'subTenantId' | 'createdAt' | 'updatedAt' | 'receivedFrom' | 'conflicting'
>;

type Read = Pick<SpanDocument, 'serviceName' | 'genAi'>;
type WrittenSpan = Omit<SpanDocument, keyof Read>;

/** A text that spans share. */
type SharedText = { number: number; digest: string };

/** The stored texts of a span. */
export type SpanTexts = Pick<BlockSpan, 'line' | 'resource' | 'scope' | 'digest'>;

/**
 * Serializes the spans of one batch. Answers return these texts unchanged. Resources and scopes that spans share are
 * serialized once.
 *
 * @returns the writer, and the shared texts that spans refer to by index
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
      // The ids and the start time are stored in the index.
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
      // Encoded once, for the digest and for the block.
      const before = `${parentSpanId ?? ''} ${startTime} ${resource.digest} ${scope.digest} `;
      const content = Buffer.from(before + line);
      return {
        line: content.subarray(before.length),
        resource: resource.number,
        scope: scope.number,
        digest: hash('sha256', content, 'hex').slice(0, 16),
      };
    },
  };
}
