import { nanoTime, timeParts } from '../nano-time.ts';
import type { PageKey } from '../queries.ts';
import type { SpanIndex } from '../span-index.ts';
import type { FoundSpan, SpanPlace } from './span-texts.ts';

/** An entry of an index, with its start time. */
type Entry = { place: SpanPlace; index: SpanIndex; number: number; milliseconds: number; nanoseconds: number };

type Wanted = {
  /** Only spans with this id. Null: all spans. */
  spanId: string | null;
  after: PageKey | null;
  count: number;
};

/**
 * Finds the first `count` spans after a key, by start time, and then by id, place and block. It holds at most a few times `count`
 * entries in memory, however large the trace is.
 */
export class FirstSpans {
  readonly #spanId: string | null;
  readonly #count: number;
  readonly #after: { milliseconds: number; nanoseconds: number; id: string } | null;
  #found: Entry[] = [];
  /** The last of `count` found entries. Later ones are not needed. Null until enough are found. */
  #last: Entry | null = null;
  /** By place: ids that more than one span has. */
  readonly #conflicts = new Map<SpanPlace, ReadonlySet<string>>();

  constructor({ spanId, after, count }: Wanted) {
    this.#spanId = spanId;
    this.#count = count;
    this.#after = after && { ...timeParts(after[0]), id: after[1] };
  }

  add(place: SpanPlace, indexes: readonly SpanIndex[]): void {
    const conflicts = new Set<string>();
    for (const index of indexes) {
      const [first, end] = this.#spanId === null ? [0, index.count] : index.rangeOf(this.#spanId);
      for (let number = first; number < end; number += 1) {
        // Every span after the first one with its id is marked.
        if (index.isVariant(number)) conflicts.add(index.spanId(number));
        const milliseconds = index.milliseconds(number);
        if (this.#after && milliseconds < this.#after.milliseconds) continue;
        if (this.#last && milliseconds > this.#last.milliseconds) continue;
        const entry = { place, index, number, milliseconds, nanoseconds: index.nanoseconds(number) };
        if (!this.#isAfter(entry)) continue;
        this.#found.push(entry);
        if (this.#found.length >= 4 * this.#count) this.#dropLaterEntries();
      }
    }
    this.#conflicts.set(place, conflicts);
  }

  /** The found spans, in their order. */
  spans(): FoundSpan[] {
    this.#dropLaterEntries();
    return this.#found.map((entry) => this.#spanOf(entry));
  }

  #isAfter(entry: Entry): boolean {
    if (!this.#after || entry.milliseconds > this.#after.milliseconds) return true;
    if (entry.nanoseconds !== this.#after.nanoseconds) return entry.nanoseconds > this.#after.nanoseconds;
    return idOf(entry) > this.#after.id;
  }

  #dropLaterEntries(): void {
    this.#found.sort(compare);
    if (this.#found.length > this.#count) this.#found.length = this.#count;
    if (this.#found.length === this.#count) this.#last = this.#found.at(-1) ?? null;
  }

  #spanOf(entry: Entry): FoundSpan {
    const { place, index, number, milliseconds, nanoseconds } = entry;
    const spanId = index.spanId(number);
    const startTime = nanoTime({ milliseconds, nanoseconds });
    return {
      place,
      block: index.block(number),
      spanId,
      parentSpanId: index.parentSpanId(number),
      startTime,
      offset: index.offset(number),
      length: index.length(number),
      isConflicting: this.#conflicts.get(place)?.has(spanId) === true,
      sortKey: [startTime, idOf(entry)],
    };
  }
}

function compare(a: Entry, b: Entry): number {
  if (a.milliseconds !== b.milliseconds) return a.milliseconds - b.milliseconds;
  if (a.nanoseconds !== b.nanoseconds) return a.nanoseconds - b.nanoseconds;
  return idOf(a) < idOf(b) ? -1 : 1;
}

/** The second sort key of spans. No part of it contains a line break. */
function idOf({ place, index, number }: Entry): string {
  const { id } = index.block(number);
  return `${index.spanId(number)}/${place.tenant_id}/${place.sub_tenant_id}/${id}/${index.offset(number)}`;
}
