import protobuf from 'protobufjs/minimal.js';
import { LIMITS, scopeOf } from './assemble.ts';
import { boundAttributes, boundScope } from './bounds.ts';
import {
  Entries,
  isWithin,
  message,
  type Reader,
  readMessage,
  type Source,
  skip,
  Texts,
  text,
} from './protobuf-values.ts';
import { type Attributes, OtlpDecodeError, type OtlpSpan } from './span.ts';

/** Reads the record that the reader stands before: a span, a log record, a metric. */
export type ReadRecord = (source: Source, scope: OtlpSpan['scope'], resource: Attributes) => void;

/**
 * Walks a request of any signal. Requests of traces, logs and metrics have the same shape and the same field numbers
 * (opentelemetry-proto 1.11): resources, in each its scopes, in each its records.
 *
 * It walks the wire with protobufjs' reader instead of its generated decoders: those build every element of a request
 * before anything can be bounded, so that a few kilobytes of gzip, unpacked to millions of two-byte elements, would take
 * gigabytes; and they refuse the whole request where one attribute is nested too deep. Unknown fields, and known ones of
 * another wire type, are skipped, as every protobuf parser does.
 *
 * @param name of the message, for the error
 * @throws OtlpDecodeError where the bytes are no such message
 */
export function walkProtobufRequest(bytes: Uint8Array, name: string, readRecord: ReadRecord): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const source = { reader: protobuf.Reader.create(buffer), texts: new Texts(buffer) };
  const { reader } = source;
  try {
    while (isWithin(reader)) {
      const tag = reader.tag();
      if (tag === REQUEST.resources) readResourceRecords(source, readRecord);
      else skip(reader, tag);
    }
    if (reader.pos !== reader.len) throw new RangeError('a field runs past the request');
  } catch (error) {
    // The reader throws Error and RangeError alone; a TypeError is a bug of ours.
    if (error instanceof TypeError) throw error;
    throw new OtlpDecodeError(`The body is not a valid protobuf ${name}.`, { cause: error });
  }
}

/**
 * Counts the records of a request without reading any of them: a hundredth of what it takes to read them. Answers 0 where
 * the bytes are no request, which reading them tells better.
 */
export function countProtobufRecords(bytes: Uint8Array): number {
  const reader = protobuf.Reader.create(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  let records = 0;
  const countScopes = (tag: number) => tag === SCOPE_RECORDS.records && countOne();
  const countOne = () => {
    records += 1;
    return false;
  };
  try {
    while (isWithin(reader)) {
      const tag = reader.tag();
      if (tag !== REQUEST.resources) skip(reader, tag);
      else readMessage(reader, (inner) => inner === RESOURCE_RECORDS.scopes && nested(reader, countScopes));
    }
    return records;
  } catch {
    return 0;
  }
}

function nested(reader: Reader, visit: (tag: number) => boolean): true {
  readMessage(reader, visit);
  return true;
}

// Message descriptors: each field by the tag it has on the wire. Fields not read are not here.
const REQUEST = { resources: message(1) };
const RESOURCE_RECORDS = { resource: message(1), scopes: message(2) };
const RESOURCE = { attributes: message(1) };
const SCOPE_RECORDS = { scope: message(1), records: message(2) };
const SCOPE = { name: text(1), version: text(2), attributes: message(3) };

// The wire allows records to stand before their resource and scope. What is made of a record says both: they are read
// first, and the message then once more.

function readResourceRecords(source: Source, readRecord: ReadRecord): void {
  const resource: Attributes = {};
  const attributes = new Entries(resource);
  const { reader } = source;
  const start = reader.pos;
  readMessage(reader, (tag) => {
    if (tag !== RESOURCE_RECORDS.resource) return false;
    readMessage(reader, (inner) => inner === RESOURCE.attributes && attributes.read(source));
    return true;
  });
  boundAttributes(resource, LIMITS.resourceBytes);
  reader.pos = start;
  readMessage(reader, (tag) => {
    if (tag !== RESOURCE_RECORDS.scopes) return false;
    readScopeRecords(source, resource, readRecord);
    return true;
  });
}

function readScopeRecords(source: Source, resource: Attributes, readRecord: ReadRecord): void {
  const scope = scopeOf('', '', {});
  const attributes = new Entries(scope.attributes);
  const { reader } = source;
  const start = reader.pos;
  readMessage(reader, (tag) => {
    if (tag !== SCOPE_RECORDS.scope) return false;
    readScope(source, scope, attributes);
    return true;
  });
  boundScope(scope);
  reader.pos = start;
  readMessage(reader, (tag) => {
    if (tag !== SCOPE_RECORDS.records) return false;
    readRecord(source, scope, resource);
    return true;
  });
}

function readScope(source: Source, scope: OtlpSpan['scope'], attributes: Entries): void {
  readMessage(source.reader, (tag) => {
    switch (tag) {
      case SCOPE.name:
        scope.name = source.texts.read(source.reader);
        return true;
      case SCOPE.version:
        scope.version = source.texts.read(source.reader) || null;
        return true;
      case SCOPE.attributes:
        return attributes.read(source);
      default:
        return false;
    }
  });
}
