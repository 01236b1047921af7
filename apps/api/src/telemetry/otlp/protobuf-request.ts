import protobuf from 'protobufjs/minimal.js';
import { instrumentationScope, LIMITS } from './assemble.ts';
import { boundAttributes, boundScope } from './bounds.ts';
import {
  Entries,
  isWithin,
  message,
  type Reader,
  readMessage,
  type Source,
  skip,
  sourceOf,
  text,
} from './protobuf-values.ts';
import { type Attributes, OtlpDecodeError, type OtlpSpan } from './span.ts';

/** Reads the record at the reader's position: a span, a log record or a metric. */
export type ReadRecord = (source: Source, scope: OtlpSpan['scope'], resource: Attributes) => void;

/**
 * Walks a request of any signal. Requests of traces, logs and metrics have the same structure and field numbers
 * (opentelemetry-proto 1.11): resources, their scopes, and the records of each scope.
 *
 * It uses protobufjs' reader and not its generated decoders. These build every element of a request before any limit
 * applies: a few kilobytes of gzip that decompress to millions of two-byte elements would take gigabytes of memory. They
 * also refuse the whole request if one attribute is nested too deep. Unknown fields, and known fields with another wire
 * type, are skipped, as every protobuf parser does.
 *
 * @param name the name of the message, for the error
 * @throws OtlpDecodeError if the bytes are not such a message
 */
export function walkProtobufRequest(bytes: Uint8Array, name: string, readRecord: ReadRecord): void {
  const source = sourceOf(bytes);
  const { reader } = source;
  try {
    while (isWithin(reader)) {
      const tag = reader.tag();
      if (tag === REQUEST.resources) readResourceRecords(source, readRecord);
      else skip(reader, tag);
    }
    if (reader.pos !== reader.len) throw new RangeError('a field runs past the request');
  } catch (error) {
    // The reader throws only Error and RangeError. A TypeError is a bug in this code.
    if (error instanceof TypeError) throw error;
    throw new OtlpDecodeError(`The body is not a valid protobuf ${name}.`, { cause: error });
  }
}

/**
 * Counts the records of a request without reading them, in about a hundredth of the time. Returns 0 if the bytes are not a
 * request: reading them reports that error.
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

// Message descriptors: the tags of the fields that are read.
const REQUEST = { resources: message(1) };
const RESOURCE_RECORDS = { resource: message(1), scopes: message(2) };
const RESOURCE = { attributes: message(1) };
const SCOPE_RECORDS = { scope: message(1), records: message(2) };
const SCOPE = { name: text(1), version: text(2), attributes: message(3) };

// Records may come before their resource and scope on the wire, but are mapped together with both. So a message is read
// twice: first its resource or scope, then its records.

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
  const scope = instrumentationScope('', '', {});
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
