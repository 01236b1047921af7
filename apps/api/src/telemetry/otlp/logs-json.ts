import { NO_NAMES } from './assemble.ts';
import { attributesOf, enumeration, id, time, type Json, readAnyValue, string } from './json-values.ts';
import { walkJsonRequest } from './json-request.ts';
import { collectLogs, type DecodedLogs, type LogDecoding, type RawLogRecord } from './log.ts';

/**
 * Decodes an ExportLogsServiceRequest in OTLP's JSON form.
 *
 * @param body the parsed JSON of the request
 * @throws OtlpDecodeError with the path of a known field that has the wrong type
 */
export function decodeLogsJson<Kept>(
  body: unknown,
  { receivedAt, take, keptNames = NO_NAMES }: LogDecoding<Kept>,
): DecodedLogs<Kept> {
  const collector = collectLogs(receivedAt, take);
  walkJsonRequest(body, { resources: 'resourceLogs', scopes: 'scopeLogs', records: 'logRecords' }, (json, place) => {
    if (collector.isFull()) collector.refuse();
    else collector.add(readLogRecord(json, place.path, keptNames), place.scope, place.resource);
  });
  return collector.done();
}

const SEVERITY_NUMBERS = [
  'SEVERITY_NUMBER_UNSPECIFIED',
  ...['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'].flatMap((name) =>
    ['', '2', '3', '4'].map((step) => `SEVERITY_NUMBER_${name}${step}`),
  ),
];

function readLogRecord(record: Json, path: string, keptNames: ReadonlySet<string>): RawLogRecord {
  return {
    time: time(record.timeUnixNano, `${path}.timeUnixNano`),
    observedTime: time(record.observedTimeUnixNano, `${path}.observedTimeUnixNano`),
    severityNumber: enumeration(record.severityNumber, SEVERITY_NUMBERS, `${path}.severityNumber`),
    severityText: string(record.severityText, `${path}.severityText`),
    eventName: string(record.eventName, `${path}.eventName`),
    traceId: id(record.traceId, `${path}.traceId`),
    spanId: id(record.spanId, `${path}.spanId`),
    body: readAnyValue(record.body, `${path}.body`),
    attributes: attributesOf(record.attributes, `${path}.attributes`, keptNames),
  };
}
