import { deserialize, serialize } from 'node:v8';

/** Prepared spans or log records, in order. An array of them is one, too. */
export type Records<Item> = Iterable<Item> & { readonly length: number };

/** Deserializing a part of so many records takes 1 to 2 ms. */
const RECORDS_PER_PART = 200;

/** Serializes records in parts. */
export function* serializedParts(records: readonly unknown[]): Generator<Uint8Array, null> {
  for (let start = 0; start < records.length; start += RECORDS_PER_PART) {
    yield serialize(records.slice(start, start + RECORDS_PER_PART));
  }
  return null;
}

/**
 * Records that another thread has serialized. A part becomes objects when its turn comes, and no longer than it is needed. As
 * objects, all records of a large request would be in the heap while they are stored, which takes seconds. Each collection of
 * garbage would have to mark them, and all other requests would wait for it.
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
