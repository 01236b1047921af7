import { hash } from 'node:crypto';
import type { Recording } from '../recordings/recording.ts';

/** Stands in every text of a program that is content. One word, so the form of the text does not give it away. */
export const CONTENT = 'zebra-content';

/** The value of an attribute. A bigint is an integer, a number is a double. */
type Value = string | bigint | number | boolean | readonly Value[] | { readonly [key: string]: Value };

type Attributes = Readonly<Record<string, Value>>;

/** A span, with the spans inside it. */
type Span = {
  /** The instrumentation scope. Default: that of the program. */
  scope?: string;
  name: string;
  kind?: 'internal' | 'server' | 'client';
  attributes?: Attributes;
  events?: readonly { name: string; attributes: Attributes }[];
  /** Whether its status is an error. The message of the status is content. */
  failed?: boolean;
  /** Log records that are written in the span. */
  logs?: readonly Log[];
  inside?: readonly Span[];
};

/** `body` is content by default. */
type Log = { scope?: string; event: string; body?: string; attributes: Attributes };

type Truth = Recording['truth'];

/** What a framework sends while a program runs, and what the program does. Written by hand after the framework's source. */
export type Program = {
  id: string;
  framework: string;
  /** The version or date of the source. */
  version: string;
  /** Repository and files that the names of spans and attributes are taken from. */
  source: string;
  /** Markdown: how to switch the telemetry on. */
  setUp: string;
  /** Facts that the telemetry does not contain, one reason for each. */
  cannotKnow?: readonly string[];
  scope: string;
  service?: string;
  resource?: Attributes;
  spans?: readonly Span[];
  /** Log records outside of spans. */
  logs?: readonly Log[];
  models?: readonly Truth['models'][number][];
  tools?: readonly (Pick<Truth['tools'][number], 'name' | 'calls'> & Partial<Truth['tools'][number]>)[];
  agents?: readonly string[];
};

const START = 1_790_000_000_000_000_000n;
const MILLISECOND = 1_000_000n;

type Placed = Span & {
  scope: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  start: bigint;
  end: bigint;
};

/** The program as a recording of OTLP requests in JSON. Each span of `spans` is the root of a trace. */
export function recordingOf(program: Program): Recording {
  const { id, framework, version, source, setUp, service = 'weather-service', spans = [], logs = [] } = program;
  const placed: Placed[] = [];
  let clock = START;
  const tick = () => (clock += MILLISECOND);
  const place = (span: Span, traceId: string, parentSpanId: string): void => {
    const { scope = program.scope } = span;
    const spanId = digestOf(`${id} span ${placed.length}`).slice(0, 16);
    const one: Placed = { ...span, scope, traceId, spanId, parentSpanId, start: tick(), end: 0n };
    placed.push(one);
    for (const inner of span.inside ?? []) place(inner, traceId, spanId);
    one.end = tick();
  };
  for (const [index, root] of spans.entries()) place(root, digestOf(`${id} trace ${index}`).slice(0, 32), '');
  const records = [
    ...placed.flatMap(({ logs: own = [], traceId, spanId }) => own.map((log) => ({ ...log, traceId, spanId }))),
    ...logs.map((log) => ({ ...log, traceId: '', spanId: '' })),
  ];
  const resource = { attributes: keyValues({ 'service.name': service, ...program.resource }) };
  const scopeSpans = [...Map.groupBy(placed, ({ scope }) => scope)].map(([name, own]) => ({
    scope: { name },
    spans: own.map(spanJson),
  }));
  const scopeLogs = [...Map.groupBy(records, ({ scope = program.scope }) => scope)].map(([name, own]) => ({
    scope: { name },
    logRecords: own.map(({ event, body = CONTENT, attributes, traceId, spanId }) => ({
      timeUnixNano: String(tick()),
      eventName: event,
      body: { stringValue: body },
      attributes: keyValues(attributes),
      traceId,
      spanId,
    })),
  }));
  return {
    id,
    framework,
    version: `written by hand after the source, ${version}`,
    setUp: `${setUp}\n\nSource: ${source}`,
    requests: [
      ...(placed.length > 0 ? [requestOf('/v1/traces', { resourceSpans: [{ resource, scopeSpans }] })] : []),
      ...(records.length > 0 ? [requestOf('/v1/logs', { resourceLogs: [{ resource, scopeLogs }] })] : []),
    ],
    truth: {
      models: [...(program.models ?? [])],
      tools: (program.tools ?? []).map((tool) => ({ server: null, runsAt: null, ...tool })),
      agents: (program.agents ?? []).map((name) => ({ name })),
      errors: placed.filter(({ failed }) => failed).length,
    },
    cannotKnow: [...(program.cannotKnow ?? [])],
    markers: [CONTENT],
  };
}

function requestOf(path: string, body: unknown): Recording['requests'][number] {
  const bytes = Buffer.from(JSON.stringify(body));
  return { path, contentType: 'application/json', contentEncoding: null, body: bytes.toString('base64') };
}

const KINDS = { internal: 1, server: 2, client: 3 };

function spanJson({ traceId, spanId, parentSpanId, name, kind = 'internal', start, end, ...span }: Placed) {
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(end),
    attributes: keyValues(span.attributes ?? {}),
    events: (span.events ?? []).map((event) => ({
      name: event.name,
      timeUnixNano: String(start),
      attributes: keyValues(event.attributes),
    })),
    status: span.failed ? { code: 2, message: CONTENT } : {},
  };
}

function keyValues(attributes: Attributes) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueJson(value) }));
}

function valueJson(value: Value): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'bigint') return { intValue: String(value) };
  if (typeof value === 'number') return { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(valueJson) } };
  return { kvlistValue: { values: keyValues(value as Attributes) } };
}

function digestOf(text: string): string {
  return hash('sha256', text);
}
