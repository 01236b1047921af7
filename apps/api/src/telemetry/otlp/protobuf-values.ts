import type { TimeParts } from '@quartermaster/db/nano-time.ts';
import { storable } from '@quartermaster/db/storable-text.ts';
import protobuf from 'protobufjs/minimal.js';
import { type Budget, doubleValue, LIMITS, newBudget, NO_NAMES, setAttribute, TOO_DEEP } from './assemble.ts';
import type { Attributes, AttributeValue } from './span.ts';
import { timeOfHalves } from './time.ts';

export type Reader = protobuf.Reader;

// The parts of a descriptor. The tag of a field consists of its number and its wire type.
export const varint = (field: number): number => field * 8;
export const fixed64 = (field: number): number => field * 8 + 1;
export const text = (field: number): number => field * 8 + 2;
export const bytes = text;
export const message = text;

export const WIRE_TYPE_OF_MESSAGES = 2;

/** Enters the message at the reader's position. Returns the end of the enclosing message, for {@link leave}. */
function enter(reader: Reader): number {
  const outerEnd = reader.len;
  const size = reader.size();
  if (reader.pos + size > outerEnd) throw new RangeError('a message runs past the one that holds it');
  reader.len = reader.pos + size;
  return outerEnd;
}

/** Whether the current message has more fields. If not, call `leave`. */
export function isWithin(reader: Reader): boolean {
  return reader.pos < reader.len;
}

function leave(reader: Reader, outerEnd: number): void {
  if (reader.pos !== reader.len) throw new RangeError('a field runs past the message that holds it');
  reader.len = outerEnd;
}

export function skip(reader: Reader, tag: number): void {
  reader.skipType(tag & 7, 0, tag >>> 3);
}

/** Reads a message. @param visit returns whether it consumed the field. Other fields are skipped */
export function readMessage(reader: Reader, visit: (tag: number) => boolean): void {
  const outerEnd = enter(reader);
  while (isWithin(reader)) {
    const tag = reader.tag();
    if (!visit(tag)) skip(reader, tag);
  }
  leave(reader, outerEnd);
}

/** Longer texts are not cached, because they rarely repeat. In bytes. */
const MAX_CACHED_TEXT = 64;

/** The same for attributes: a name and a short text. */
const MAX_CACHED_ENTRY = 128;

/** Entries of a cache. A power of two. */
const CACHE_SIZE = 2048;

/**
 * Decodes the texts and ids of one request. Spans of a batch repeat the same names, values, trace ids and parent ids, so what
 * was decoded is cached by its bytes.
 */
class Texts {
  readonly #bytes: Buffer;
  readonly #texts: DecodedBytes<string>;
  readonly #ids: DecodedBytes<string>;

  /** @param bytes the request, which the reader reads */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#texts = new DecodedBytes(bytes);
    this.#ids = new DecodedBytes(bytes);
  }

  read(reader: Reader): string {
    const length = reader.size();
    const start = reader.pos;
    if (start + length > reader.len) throw new RangeError('a text runs past the message that holds it');
    reader.pos = start + length;
    if (length > MAX_CACHED_TEXT) return storable(this.#bytes.toString('utf8', start, start + length));
    const known = this.#texts.find(start, length);
    if (known !== undefined) return known;
    return this.#texts.add(storable(this.#bytes.toString('utf8', start, start + length)));
  }

  /** An id in hex. The longest id has 16 bytes. A longer one is returned as a text that validation refuses. */
  readId(reader: Reader): string {
    const length = reader.size();
    const start = reader.pos;
    if (start + length > reader.len) throw new RangeError('an id runs past the message that holds it');
    reader.pos = start + length;
    if (length > MAX_ID_BYTES) return 'too long';
    const known = this.#ids.find(start, length);
    return known === undefined ? this.#ids.add(this.#bytes.toString('hex', start, start + length)) : known;
  }
}

const MAX_ID_BYTES = 16;

type Decoded<Value> = { hash: number; start: number; length: number; value: Value };

/** A cache of decoded bytes: a hash table of fixed size, in which a new value replaces the one with the same slot. */
class DecodedBytes<Value> {
  readonly #bytes: Buffer;
  readonly #cache: Decoded<Value>[] = [];
  /** The bytes that were looked up last. */
  #last = { slot: 0, hash: 0, start: 0, length: 0 };

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    // Otherwise V8 makes it a slow sparse array.
    this.#cache.length = CACHE_SIZE;
  }

  find(start: number, length: number): Value | undefined {
    const bytes = this.#bytes;
    let hash = length;
    for (let at = start; at < start + length; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0;
    const slot = (hash ^ (hash >>> 15)) & (CACHE_SIZE - 1);
    const cached = this.#cache[slot];
    if (cached?.hash === hash && cached.length === length && this.#isSame(cached.start, start, length)) {
      return cached.value;
    }
    const last = this.#last;
    last.slot = slot;
    last.hash = hash;
    last.start = start;
    last.length = length;
    return undefined;
  }

  /** Adds the value of the bytes that `find` did not find. */
  add(value: Value): Value {
    const { slot, hash, start, length } = this.#last;
    this.#cache[slot] = { hash, start, length, value };
    return value;
  }

  #isSame(known: number, start: number, length: number): boolean {
    const bytes = this.#bytes;
    for (let at = 0; at < length; at += 1) if (bytes[known + at] !== bytes[start + at]) return false;
    return true;
  }
}

/** An attribute whose value is neither a list nor null. */
type SimpleEntry = { key: string; value: string | number | boolean };

/** A request that is being decoded, with caches of what was decoded. */
export type Source = { reader: Reader; texts: Texts; entries: DecodedBytes<SimpleEntry> };

export function sourceOf(bytes: Uint8Array): Source {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { reader: protobuf.Reader.create(buffer), texts: new Texts(buffer), entries: new DecodedBytes(buffer) };
}

/** Reads one list of KeyValue, up to a limit. `keptNames` are read beyond the limit as well. */
export class Entries {
  private readonly into: Attributes;
  private readonly keptNames: ReadonlySet<string>;
  private count = 0;

  constructor(into: Attributes, keptNames: ReadonlySet<string> = NO_NAMES) {
    this.into = into;
    this.keptNames = keptNames;
  }

  /** Reads or skips one KeyValue. Returns true, because the field is consumed in both cases. */
  read(source: Source, depth = 0, budget?: Budget): true {
    const { reader, texts, entries } = source;
    this.count += 1;
    if (this.count > LIMITS.attributes && !this.keptNames.has(peekKey(reader))) {
      reader.skipType(WIRE_TYPE_OF_MESSAGES);
      return true;
    }
    const outerEnd = enter(reader);
    const isShort = depth === 0 && reader.len - reader.pos <= MAX_CACHED_ENTRY;
    const known = isShort ? entries.find(reader.pos, reader.len - reader.pos) : undefined;
    if (known !== undefined) {
      reader.pos = reader.len;
      reader.len = outerEnd;
      setAttribute(this.into, known.key, known.value);
      return true;
    }
    let key = '';
    let value: AttributeValue = null;
    while (isWithin(reader)) {
      const tag = reader.tag();
      if (tag === KEY_VALUE.key) key = texts.read(reader);
      else if (tag === KEY_VALUE.value) value = readValue(source, depth, budget ?? newBudget());
      else skip(reader, tag);
    }
    leave(reader, outerEnd);
    if (key === '') return true;
    setAttribute(this.into, key, value);
    if (isShort && value !== null && typeof value !== 'object') entries.add({ key, value });
    return true;
  }
}

/** The bytes of a field as text, or null if there are more than `maxBytes`. */
function readBytes(reader: Reader, encoding: 'base64' | 'utf8', maxBytes: number): string | null {
  const size = reader.size();
  const start = reader.pos;
  if (start + size > reader.len) throw new RangeError('bytes run past the message that holds them');
  reader.pos = start + size;
  if (size > maxBytes) return null;
  return Buffer.from(reader.buf.buffer, reader.buf.byteOffset + start, size).toString(encoding);
}

/** Reads nanoseconds since 1970, a fixed64. */
export function readTime(reader: Reader): TimeParts {
  const low = reader.fixed32();
  return timeOfHalves(low, reader.fixed32());
}

/** Reads an AnyValue outside of attributes. */
export function readAnyValue(source: Source): AttributeValue {
  return readValue(source, 0, newBudget());
}

// common.proto
const KEY_VALUE = { key: text(1), value: message(2) };
const ANY_VALUE = {
  stringValue: text(1),
  boolValue: varint(2),
  intValue: varint(3),
  doubleValue: fixed64(4),
  arrayValue: message(5),
  kvlistValue: message(6),
  bytesValue: bytes(7),
};
const LIST = { values: message(1) };

/** Longer names are in no set of kept names, so they need not be decoded to be skipped. */
const MAX_KEPT_NAME_BYTES = 256;

/** The key of the KeyValue at the reader's position, without consuming it. Empty if the key is too long to be read. */
function peekKey(reader: Reader): string {
  const start = reader.pos;
  let key = '';
  readMessage(reader, (tag) => {
    if (tag !== KEY_VALUE.key) return false;
    key = readBytes(reader, 'utf8', MAX_KEPT_NAME_BYTES) ?? '';
    return true;
  });
  reader.pos = start;
  return key;
}

/** @param depth the number of lists around the value */
function readValue(source: Source, depth: number, budget: Budget): AttributeValue {
  const { reader, texts } = source;
  budget.left -= 1;
  let value: AttributeValue = null;
  const outerEnd = enter(reader);
  while (isWithin(reader)) {
    const tag = reader.tag();
    switch (tag) {
      case ANY_VALUE.stringValue:
        value = texts.read(reader);
        break;
      case ANY_VALUE.boolValue:
        value = reader.bool();
        break;
      case ANY_VALUE.intValue:
        value = readInt64(reader);
        break;
      case ANY_VALUE.doubleValue:
        value = doubleValue(reader.double());
        break;
      case ANY_VALUE.bytesValue:
        value = readBytes(reader, 'base64', Number.POSITIVE_INFINITY) ?? '';
        break;
      case ANY_VALUE.arrayValue:
      case ANY_VALUE.kvlistValue:
        if (depth >= LIMITS.depth) {
          value = TOO_DEEP;
          skip(reader, tag);
        } else {
          value = (tag === ANY_VALUE.arrayValue ? readArray : readKeyValueList)(source, depth + 1, budget);
        }
        break;
      default:
        skip(reader, tag);
    }
  }
  leave(reader, outerEnd);
  return value;
}

function readArray(source: Source, depth: number, budget: Budget): AttributeValue[] {
  const items: AttributeValue[] = [];
  readMessage(source.reader, (tag) => {
    if (tag !== LIST.values || budget.left <= 0) return false;
    items.push(readValue(source, depth, budget));
    return true;
  });
  return items;
}

function readKeyValueList(source: Source, depth: number, budget: Budget): Attributes {
  const into: Attributes = {};
  const entries = new Entries(into);
  readMessage(source.reader, (tag) => tag === LIST.values && budget.left > 0 && entries.read(source, depth, budget));
  return into;
}

/** A number if it is a safe integer, otherwise its decimal digits. */
function readInt64(reader: Reader): AttributeValue {
  const long = reader.int64();
  const number = long.high * 2 ** 32 + (long.low >>> 0);
  return Number.isSafeInteger(number) ? number : long.toString();
}
