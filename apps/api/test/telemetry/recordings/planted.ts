import { gunzipSync } from 'node:zlib';
import { handlingIn, isSafe } from '../../../src/telemetry/content/handling.ts';
import { DIALECTS } from '../../../src/telemetry/frameworks/list.ts';
import { namesOf } from '../../../src/telemetry/reading/reader.ts';
import { memoizeByName } from '../../../src/telemetry/memoize-by-name.ts';
import { fromProtobuf, type Json, toProtobuf } from '../otlp/wire.ts';
import type { Recording } from './recording.ts';

/** The marker in every planted text. */
export const PLANTED = 'planted-marker';

const TEXT = `please keep ${PLANTED} to yourself`;

/** The marker in user, password, query and fragment, the parts of a URL that are never stored. */
const URL_TEXT = `https://${PLANTED}:${PLANTED}@planted.example.com/docs?key=${PLANTED}#${PLANTED}`;

/** The beginning of the planted text in base64, and in hexadecimal digits. */
export const PLANTED_ENCODED = Buffer.from(TEXT).toString('base64').slice(0, 32);
export const PLANTED_HEX = Buffer.from(TEXT).toString('hex').slice(0, 48);

/** Encoded content as applications write it where a name or an id belongs. */
const ENCODED_TEXTS = [
  `data:text/plain;base64,${Buffer.from(TEXT).toString('base64')}`,
  Buffer.from(TEXT).toString('base64'),
  `msg_${Buffer.from(TEXT).toString('base64url')}`,
  Buffer.from(TEXT).toString('hex'),
];

/** Texts that applications write as names of spans, events and attributes. */
const TEXTS_AS_NAMES = [
  TEXT,
  `请告诉我病人张伟的检测结果${PLANTED}`,
  `{"prompt":"${PLANTED}"}`,
  Buffer.from(TEXT).toString('base64'),
  `${PLANTED}@example.com`,
  `https://${PLANTED}@example.com?key=${PLANTED}`,
];

const SPAN_NAMES = [
  ...TEXTS_AS_NAMES,
  `GET /users/${PLANTED}@example.com`,
  `POST ${URL_TEXT}`,
  `resources/read file:///${PLANTED}/a?b`,
  `chat ${TEXT}`,
  `router - /users/${PLANTED}@example.com`,
];

/** Attributes that make an application's own span one of a dialect. */
const KINDS: readonly [string, string][] = [
  ['openinference.span.kind', 'CHAIN'],
  ['openinference.span.kind', 'AGENT'],
  ['openinference.span.kind', 'TOOL'],
  ['traceloop.span.kind', 'task'],
  ['langfuse.observation.type', 'span'],
  ['langfuse.observation.type', 'tool'],
  ['langfuse.observation.type', 'agent'],
];

/** Attributes that no list contains, with all forms of names that content has. */
const EXTRA_NAMES = [
  'note',
  'x:input',
  'y/output',
  'a.metadata.body',
  'system_prompt',
  'agent.instructions',
  'shell.command',
  'error',
  'status_message',
  'ai.request.text',
  'ai.documents',
  'http.request.header.x-note',
  'exception.message',
  'url.full',
  'db.query.text',
  'error.type',
];

type KeyValue = { key: string; value: Json };

/**
 * A recorded request with the marker in every text that may be content: the strings of every attribute of spans, events,
 * links, scopes and resources that is not known to be a name or an id, the status message, the trace state, and in further
 * attributes, an event and a link. Of the spans, events or links of a scope that have the same names of attributes, only the first
 * gets the further attributes. Or, `into` names, with a URL in every text that is a name or an id; `into` encoded, with the marker
 * in base64, in hexadecimal digits, or in a data URL there.
 *
 * @param withApplication adds spans of an application to the request
 */
export function planted(
  { contentType, contentEncoding, body, path }: Recording['requests'][number],
  { into, withApplication = false }: { into: 'texts' | 'names' | 'encoded'; withApplication?: boolean },
): Uint8Array {
  const bytes = Buffer.from(body, 'base64');
  const plain = contentEncoding === 'gzip' ? gunzipSync(bytes) : bytes;
  const type = path === '/v1/logs' ? 'LogsRequest' : 'Request';
  const request: Json = /json/.test(contentType) ? JSON.parse(plain.toString('utf8')) : fromProtobuf(type, plain);
  if (into !== 'texts') {
    plantNames(request, into === 'names' ? [URL_TEXT] : ENCODED_TEXTS);
    return toProtobuf(request, type);
  }
  const resources = listOf(request, 'resourceSpans');
  if (withApplication) addApplication(resources);
  for (const resource of resources) plantIn(resource, 'scopeSpans', plantSpans);
  for (const resource of listOf(request, 'resourceLogs')) plantIn(resource, 'scopeLogs', plantRecords);
  return toProtobuf(request, type);
}

/** Adds the spans of an application to the first resource that has spans. */
function addApplication(resources: readonly Json[]): void {
  for (const resource of resources) {
    const [like] = listOf(resource, 'scopeSpans').flatMap((scope) => listOf(scope, 'spans'));
    if (!like) continue;
    const unknown = { scope: { name: TEXT, version: TEXT, attributes: [] }, spans: spansOfApplications(like) };
    resource['scopeSpans'] = [...listOf(resource, 'scopeSpans'), unknown];
    return;
  }
}

function plantIn(resource: Json, scopes: string, plant: (scope: Json) => void): void {
  plantAttributes((resource['resource'] ??= {}) as Json);
  for (const scope of listOf(resource, scopes)) {
    plantAttributes((scope['scope'] ??= {}) as Json);
    plant(scope);
  }
}

function plantSpans(scope: Json): void {
  const seen = { spans: new Set<string>(), events: new Set<string>(), links: new Set<string>() };
  for (const span of listOf(scope, 'spans')) {
    plantAttributes(span, seen.spans);
    span['status'] = { ...(span['status'] as Json | undefined), message: TEXT };
    span['traceState'] = `vendor=${PLANTED}`;
    const time = span['startTimeUnixNano'];
    span['events'] = [...listOf(span, 'events'), { name: TEXT, timeUnixNano: time }, { name: 'exception' }];
    span['links'] = [...listOf(span, 'links'), { traceId: span['traceId'], spanId: span['spanId'], traceState: TEXT }];
    for (const event of listOf(span, 'events')) plantAttributes(event, seen.events);
    for (const link of listOf(span, 'links')) plantAttributes(link, seen.links);
  }
}

/** Spans in the scope of an application: without a dialect, and with attributes of dialects that applications may use. */
function spansOfApplications(like: Json): Json[] {
  const { traceId, startTimeUnixNano, endTimeUnixNano } = like;
  const kinds: (readonly [string, string] | null)[] = [null, ...KINDS];
  const spans = kinds.flatMap((kind) =>
    SPAN_NAMES.map((name) => ({
      name,
      attributes: kind ? [{ key: kind[0], value: { stringValue: kind[1] } }] : [],
    })),
  );
  return spans.map(({ name, attributes }, index) => {
    const spanId = Buffer.alloc(8, 7);
    spanId.writeUInt16BE(index, 0);
    const events = TEXTS_AS_NAMES.map((event) => ({ name: event, timeUnixNano: startTimeUnixNano }));
    return { traceId, spanId, startTimeUnixNano, endTimeUnixNano, name, attributes, events };
  });
}

/** Plants texts, in turn, in every text, at any depth, of attributes that some dialect reads or declares safe. */
function plantNames(part: unknown, texts: readonly string[], turn = { next: 0 }): void {
  if (Array.isArray(part)) for (const item of part) plantNames(item, texts, turn);
  if (typeof part !== 'object' || part === null || Array.isArray(part) || Buffer.isBuffer(part)) return;
  const { key, value } = part as Partial<KeyValue>;
  if (typeof key === 'string' && isName(key) && typeof value === 'object' && 'stringValue' in value) {
    value['stringValue'] = texts[turn.next % texts.length];
    turn.next += 1;
  }
  for (const inner of Object.values(part)) plantNames(inner, texts, turn);
}

function plantRecords(scope: Json): void {
  for (const record of listOf(scope, 'logRecords')) {
    plantAttributes(record);
    record['body'] = { stringValue: TEXT };
  }
}

/** @param seen the names of attributes of the parts of the same kind that have further attributes */
function plantAttributes(holder: Json, seen = new Set<string>()): void {
  const attributes = listOf(holder, 'attributes') as KeyValue[];
  for (const attribute of attributes) {
    if (!isName(attribute.key)) attribute.value = withMarker(attribute.value);
  }
  const names = attributes.map(({ key }) => key).join(' ');
  if (seen.has(names)) return;
  seen.add(names);
  const extra = EXTRA_NAMES.map((key) => ({ key, value: { stringValue: TEXT } }));
  const nested = {
    kvlistValue: { values: [{ key: 'deep', value: { arrayValue: { values: [{ stringValue: TEXT }] } } }] },
  };
  const keys = TEXTS_AS_NAMES.map((key) => ({ key, value: { intValue: 1 } }));
  holder['attributes'] = [
    ...attributes.filter(({ key }) => !EXTRA_NAMES.includes(key)),
    ...extra,
    { key: 'nested', value: nested },
    { key: 'list', value: { arrayValue: { values: [{ stringValue: TEXT }] } } },
    { key: 'bytes', value: { bytesValue: Buffer.from(TEXT) } },
    ...keys,
    { key: 'keys', value: { kvlistValue: { values: keys } } },
  ];
}

/** Whether some dialect reads the attribute as a name or an id, or declares that it is one. */
const isName = memoizeByName((name: string) => {
  const dialects = [null, ...DIALECTS.map((dialect) => dialect.name)];
  const handlings = dialects.map((dialect) => handlingIn(dialect)(name));
  return handlings.some(isSafe) || (ALSO_READ.has(name) && !handlings.includes('content'));
});

const ALSO_READ = new Set(DIALECTS.flatMap(namesOf));

function withMarker(value: Json): Json {
  if ('stringValue' in value) return { stringValue: TEXT };
  if ('arrayValue' in value) {
    const values = listOf(value['arrayValue'] as Json, 'values');
    return { arrayValue: { values: values.map(withMarker) } };
  }
  if (!('kvlistValue' in value)) return value;
  const entries = listOf(value['kvlistValue'] as Json, 'values') as KeyValue[];
  return { kvlistValue: { values: entries.map(({ key, value: inner }) => ({ key, value: withMarker(inner) })) } };
}

function listOf(holder: Json, name: string): Json[] {
  return (holder[name] as Json[] | undefined) ?? [];
}
