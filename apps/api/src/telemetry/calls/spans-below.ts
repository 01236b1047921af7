import type { CallsBelow } from './call-keys.ts';
import type { CallSpan } from './call-span.ts';
import { comparableName } from './same-name.ts';

/** Identifies the calls of a span for log records that were written in the span's parent. */
export function callsBelow(traceId: string, { parentSpanId, uses }: CallSpan): CallsBelow[] {
  if (parentSpanId === null) return [];
  return uses.map(({ kind, written }) => ({ traceId, parentSpanId, kind, name: comparableName(kind, written) }));
}

/** The spans that reported calls of one kind and name below one parent. */
export class SpansBelow {
  readonly #ids = new Map<string, Set<string>>();

  add(traceId: string, span: CallSpan): void {
    for (const below of callsBelow(traceId, span)) this.idsOf(below).add(span.spanId);
  }

  /** The ids of the spans. More can be added to the set. */
  idsOf(below: CallsBelow): Set<string> {
    const key = JSON.stringify(below);
    const ids = this.#ids.get(key) ?? new Set();
    this.#ids.set(key, ids);
    return ids;
  }
}
