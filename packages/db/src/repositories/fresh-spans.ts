import type { BlockSpan } from '../span-block.ts';
import type { KnownTrace } from './known-spans.ts';

/** The most spans of one sender in a trace at one place. */
const MAX_SPANS_OF_TRACE = 100_000;

/** The most different spans with one id that one sender may report. */
const MAX_VARIANTS = 4;

const TOO_MANY_SPANS = `A sender may have at most ${MAX_SPANS_OF_TRACE} spans in a trace.`;
const TOO_MANY_VARIANTS = `A sender may report at most ${MAX_VARIANTS} different spans with one id.`;

/** Which spans of a batch are new. */
export type FreshSpans<Span> = {
  fresh: Span[];
  /** Fresh spans whose id another span already has. */
  variants: ReadonlySet<Span>;
  duplicates: number;
  /** Why spans are rejected. */
  rejected: ReadonlyMap<Span, string>;
};

type Reported = Pick<BlockSpan, 'digest'> & { sender: string };

/**
 * Selects the spans that are not stored yet. A span is a duplicate if the same sender has reported the same content. Spans with
 * the same id from another sender, or with other content, are all kept. All limits count the spans of this sender only.
 *
 * @param known the traces that already have spans, as `findKnownSpans` returns them for the sender
 */
export function selectFreshSpans<Span extends BlockSpan>(
  spans: readonly Span[],
  { known, sender }: { known: ReadonlyMap<string, KnownTrace>; sender: string },
): FreshSpans<Span> {
  const fresh: Span[] = [];
  const variants = new Set<Span>();
  const rejected = new Map<Span, string>();
  const reported = new Map<string, Reported[]>();
  const counts = new Map<string, number>();
  let duplicates = 0;
  for (const span of spans) {
    const { traceId, spanId, digest } = span;
    const trace = known.get(traceId);
    const key = traceId + spanId;
    let same = reported.get(key);
    if (!same) {
      same = [...(trace?.find(spanId) ?? [])];
      reported.set(key, same);
    }
    if (same.length > 0) {
      const sameSender = same.filter((entry) => entry.sender === sender);
      if (sameSender.some((entry) => entry.digest === digest)) {
        duplicates += 1;
        continue;
      }
      if (sameSender.length >= MAX_VARIANTS) {
        rejected.set(span, TOO_MANY_VARIANTS);
        continue;
      }
    }
    const count = counts.get(traceId) ?? trace?.spanCount ?? 0;
    if (count >= MAX_SPANS_OF_TRACE) {
      rejected.set(span, TOO_MANY_SPANS);
      continue;
    }
    counts.set(traceId, count + 1);
    if (same.length > 0) variants.add(span);
    same.push({ digest, sender });
    fresh.push(span);
  }
  return { fresh, variants, duplicates, rejected };
}
