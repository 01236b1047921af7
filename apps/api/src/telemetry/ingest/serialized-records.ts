import { deserialize, serialize } from 'node:v8';

/** Prepared spans or log records, in order: an array, or {@link SerializedRecords}. */
export type Records<Item> = Iterable<Item> & { readonly length: number };

/** Deserializing a part with this many records takes 1 to 2 ms. */
const RECORDS_PER_PART = 200;

/** Serializes records in parts. */
export function* serializedParts(records: readonly unknown[]): Generator<Uint8Array, null> {
  for (let start = 0; start < records.length; start += RECORDS_PER_PART) {
    yield serialize(records.slice(start, start + RECORDS_PER_PART));
  }
  return null;
}

/**
 * Records that another thread has serialized. A part is deserialized when its turn comes, and its objects live no longer than
 * they are needed. Storing a large request takes seconds. If all of its records were objects in the heap for so long, each
 * garbage collection would have to mark them, and all other requests would wait for that.
 */
export class SerializedRecords<Item> implements Records<Item> {
  readonly length: number;
  readonly #parts: readonly Uint8Array[];

  /** @param length the number of records in all parts */
  constructor(parts: readonly Uint8Array[], length: number) {
    this.#parts = parts;
    this.length = length;
  }

  *[Symbol.iterator](): Generator<Item, void, undefined> {
    for (const part of this.#parts) yield* deserialize(part) as Item[];
  }
}
