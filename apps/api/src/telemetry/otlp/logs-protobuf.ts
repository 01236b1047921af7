import { NO_NAMES } from './assemble.ts';
import { collectLogs, type DecodedLogs, type LogDecoding, newRawLogRecord, type RawLogRecord } from './log.ts';
import { walkProtobufRequest } from './protobuf-request.ts';
import {
  bytes,
  Entries,
  fixed64,
  message,
  readAnyValue,
  readMessage,
  readTime,
  type Source,
  text,
  varint,
  WIRE_TYPE_OF_MESSAGES,
} from './protobuf-values.ts';

/**
 * Decodes an ExportLogsServiceRequest (opentelemetry-proto 1.11).
 *
 * @throws OtlpDecodeError if the bytes are not such a message
 */
export function decodeLogsProtobuf<Kept>(
  bytes: Uint8Array,
  { receivedAt, take, keptNames = NO_NAMES }: LogDecoding<Kept>,
): DecodedLogs<Kept> {
  const collector = collectLogs(receivedAt, take);
  walkProtobufRequest(bytes, 'ExportLogsServiceRequest', (source, scope, resource) => {
    if (collector.isFull()) {
      source.reader.skipType(WIRE_TYPE_OF_MESSAGES);
      collector.refuse();
    } else {
      collector.add(readLogRecord(source, keptNames), scope, resource);
    }
  });
  return collector.done();
}

// The tags of the fields that are read.
const LOG_RECORD = {
  timeUnixNano: fixed64(1),
  severityNumber: varint(2),
  severityText: text(3),
  body: message(5),
  attributes: message(6),
  traceId: bytes(9),
  spanId: bytes(10),
  observedTimeUnixNano: fixed64(11),
  eventName: text(12),
};

function readLogRecord(source: Source, keptNames: ReadonlySet<string>): RawLogRecord {
  const record = newRawLogRecord();
  const attributes = new Entries(record.attributes, keptNames);
  const { reader, texts } = source;
  readMessage(reader, (tag) => {
    switch (tag) {
      case LOG_RECORD.timeUnixNano:
        record.time = readTime(reader);
        return true;
      case LOG_RECORD.severityNumber:
        record.severityNumber = reader.int32();
        return true;
      case LOG_RECORD.severityText:
        record.severityText = texts.read(reader);
        return true;
      case LOG_RECORD.body:
        record.body = readAnyValue(source);
        return true;
      case LOG_RECORD.attributes:
        return attributes.read(source);
      case LOG_RECORD.traceId:
        record.traceId = texts.readId(reader);
        return true;
      case LOG_RECORD.spanId:
        record.spanId = texts.readId(reader);
        return true;
      case LOG_RECORD.observedTimeUnixNano:
        record.observedTime = readTime(reader);
        return true;
      case LOG_RECORD.eventName:
        record.eventName = texts.read(reader);
        return true;
      default:
        return false;
    }
  });
  return record;
}
