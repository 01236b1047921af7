import type protobuf from 'protobufjs/minimal.js';
import { type Budget, doubleValue, LIMITS, LONGEST_READ_NAME, newBudget, setAttribute, TOO_DEEP } from './assemble.ts';
import type { Attributes, AttributeValue } from './span.ts';
import { storable } from './text.ts';

export type Reader = protobuf.Reader;

// What a descriptor is made of: the tag of a field is its number and its wire type.
export const varint = (field: number): number => field * 8;
export const fixed64 = (field: number): number => field * 8 + 1;
export const text = (field: number): number => field * 8 + 2;
export const bytes = text;
export const message = text;

/** Reads fields up to `end`; `visit` answers whether it has consumed the field. */
export function readFields(reader: Reader, end: number, visit: (tag: number) => boolean): void {
  const outerEnd = reader.len;
  if (end > outerEnd) throw new RangeError('a message runs past the one that holds it');
  reader.len = end;
  while (reader.pos < end) {
    const tag = reader.tag();
    if (!visit(tag)) reader.skipType(tag & 7, 0, tag >>> 3);
  }
  if (reader.pos !== end) throw new RangeError('a field runs past the message that holds it');
  reader.len = outerEnd;
}

export function readMessage(reader: Reader, visit: (tag: number) => boolean): void {
  const size = reader.size();
  readFields(reader, reader.pos + size, visit);
}

/** One list of KeyValue, bounded. `always` names the keys that are kept past the bound. */
export class Entries {
  private readonly into: Attributes;
  private readonly always: (key: string) => boolean;
  private count = 0;

  constructor(into: Attributes, always: (key: string) => boolean = () => false) {
    this.into = into;
    this.always = always;
  }

  /** Reads or skips one KeyValue; true, since either way it is consumed. */
  read(reader: Reader, depth = 0, budget?: Budget): true {
    this.count += 1;
    if (this.count > LIMITS.attributes && !this.always(peekKey(reader))) {
      reader.skipType(2);
      return true;
    }
    let key = '';
    let value: AttributeValue = null;
    readMessage(reader, (tag) => {
      switch (tag) {
        case KEY_VALUE.key:
          key = storable(reader.string());
          return true;
        case KEY_VALUE.value:
          value = readValue(reader, depth, budget ?? newBudget());
          return true;
        default:
          return false;
      }
    });
    if (key !== '') setAttribute(this.into, key, value);
    return true;
  }
}

export function baseText(slice: Uint8Array, encoding: 'hex' | 'base64' | 'utf8'): string {
  return Buffer.from(slice.buffer, slice.byteOffset, slice.byteLength).toString(encoding);
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

/** The key of the KeyValue that the reader stands before, which stays unread; empty where it is long. */
function peekKey(reader: Reader): string {
  const start = reader.pos;
  let key = '';
  readMessage(reader, (tag) => {
    if (tag !== KEY_VALUE.key) return false;
    const name = reader.bytes();
    key = name.length > LONGEST_READ_NAME ? '' : baseText(name, 'utf8');
    return true;
  });
  reader.pos = start;
  return key;
}

/** `depth` is the number of lists around the value. */
function readValue(reader: Reader, depth: number, budget: Budget): AttributeValue {
  budget.left -= 1;
  let value: AttributeValue = null;
  readMessage(reader, (tag) => {
    switch (tag) {
      case ANY_VALUE.stringValue:
        value = storable(reader.string());
        return true;
      case ANY_VALUE.boolValue:
        value = reader.bool();
        return true;
      case ANY_VALUE.intValue:
        value = readInt64(reader);
        return true;
      case ANY_VALUE.doubleValue:
        value = doubleValue(reader.double());
        return true;
      case ANY_VALUE.bytesValue:
        value = baseText(reader.bytes(), 'base64');
        return true;
      case ANY_VALUE.arrayValue:
      case ANY_VALUE.kvlistValue:
        if (depth >= LIMITS.depth) {
          value = TOO_DEEP;
          return false;
        }
        value = (tag === ANY_VALUE.arrayValue ? readArray : readKeyValueList)(reader, depth + 1, budget);
        return true;
      default:
        return false;
    }
  });
  return value;
}

function readArray(reader: Reader, depth: number, budget: Budget): AttributeValue[] {
  const items: AttributeValue[] = [];
  readMessage(reader, (tag) => {
    if (tag !== LIST.values || budget.left <= 0) return false;
    items.push(readValue(reader, depth, budget));
    return true;
  });
  return items;
}

function readKeyValueList(reader: Reader, depth: number, budget: Budget): Attributes {
  const into: Attributes = {};
  const entries = new Entries(into);
  readMessage(reader, (tag) => tag === LIST.values && budget.left > 0 && entries.read(reader, depth, budget));
  return into;
}

/** A number where it is one exactly, else its decimal digits. */
function readInt64(reader: Reader): AttributeValue {
  const long = reader.int64();
  const number = long.high * 2 ** 32 + (long.low >>> 0);
  return Number.isSafeInteger(number) ? number : long.toString();
}
