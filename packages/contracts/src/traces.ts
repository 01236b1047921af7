import { z } from 'zod';
import { LookupIdSchema, TimestampInputSchema, TimestampSchema, tenancyFields, tenancyQueryFields } from './fields.ts';
import { operation } from './operation.ts';
import { cursorField, page, pageFields } from './pages.ts';

const NanoTimeSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}Z$/)
  .meta({ id: 'NanoTimestamp', description: 'RFC 3339, UTC, nanoseconds.' });

const AttributesSchema = z.record(z.string(), z.unknown()).meta({
  id: 'Attributes',
  description:
    'Attributes in the sense of OpenTelemetry: values by name. `quartermaster.omitted` lists the names of texts that were not stored because they may hold content, at most 64; `quartermaster.omitted.count` counts them.',
});

const SpanStatusSchema = z
  .strictObject({ code: z.enum(['unset', 'ok', 'error']), message: z.string().nullable() })
  .meta({ id: 'SpanStatus' });

const InstrumentationScopeSchema = z
  .strictObject({ name: z.string(), version: z.string().nullable(), attributes: AttributesSchema })
  .meta({ id: 'InstrumentationScope', description: 'The library that made the span.' });

const SpanEventSchema = z
  .strictObject({ name: z.string(), time: NanoTimeSchema, attributes: AttributesSchema })
  .meta({ id: 'SpanEvent' });

const SpanLinkSchema = z
  .strictObject({ traceId: z.string(), spanId: z.string(), attributes: AttributesSchema })
  .meta({ id: 'SpanLink', description: 'A reference to another span.' });

const SpanGenAiSchema = z
  .strictObject({
    operation: z.string().nullable(),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    agent: z.string().nullable(),
    tool: z.string().nullable(),
    conversationId: z.string().nullable(),
    inputTokens: z.int().nullable(),
    outputTokens: z.int().nullable(),
  })
  .meta({ id: 'SpanGenAi', description: "What a span says in OpenTelemetry's GenAI conventions." });

export const SpanSchema = z
  .strictObject({
    traceId: z.string().describe('32 hex digits, lower case.'),
    spanId: z.string().describe('16 hex digits, lower case.'),
    parentSpanId: z.string().nullable(),
    ...tenancyFields,
    name: z.string(),
    kind: z.enum(['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']),
    startTime: NanoTimeSchema,
    endTime: NanoTimeSchema,
    durationMs: z.number(),
    status: SpanStatusSchema,
    serviceName: z.string().nullable(),
    scope: InstrumentationScopeSchema,
    resource: AttributesSchema,
    attributes: AttributesSchema,
    events: z.array(SpanEventSchema),
    links: z.array(SpanLinkSchema),
    genAi: SpanGenAiSchema.nullable().describe(
      "What the span says in OpenTelemetry's GenAI conventions. Null if it says nothing.",
    ),
    createdAt: TimestampSchema.describe('When it came in.'),
    updatedAt: TimestampSchema.describe('The same: spans do not change.'),
    receivedFrom: z.string().describe('The account that sent it: `user:<id>` or `service_account:<tenant>/<id>`.'),
    conflicting: z
      .boolean()
      .describe(
        'Whether the trace has another span with this id: another account sent it, or the same one with different content.',
      ),
  })
  .meta({
    id: 'Span',
    description: 'One span of a trace, without message bodies and tool arguments unless the tenant keeps them.',
  });
export type Span = z.infer<typeof SpanSchema>;

const TraceNamesSchema = z.array(z.string().max(200)).max(20);

export const TraceSchema = z
  .strictObject({
    traceId: z.string(),
    ...tenancyFields,
    rootName: z.string().nullable().describe('The name of the span without a parent, once it came in.'),
    serviceName: z.string().nullable(),
    startTime: NanoTimeSchema,
    endTime: NanoTimeSchema,
    durationMs: z.int().min(0).describe('From its first start to its last end, in whole milliseconds.'),
    spanCount: z.int(),
    errorCount: z.int().describe('Spans with the status `error`.'),
    services: TraceNamesSchema.describe('Services that its spans came from: the first 20, each cut at 200 characters.'),
    models: TraceNamesSchema.describe('Models that its spans name: the first 20.'),
    tools: TraceNamesSchema.describe('Tools that its spans name: the first 20.'),
    agents: TraceNamesSchema.describe('Agents that its spans name: the first 20.'),
    createdAt: TimestampSchema.describe('When its first span came in.'),
    updatedAt: TimestampSchema.describe('When its last span came in.'),
  })
  .meta({ id: 'Trace' });
export type Trace = z.infer<typeof TraceSchema>;

export const ExportTracesInputSchema = z.looseObject({ resourceSpans: z.array(z.unknown()).optional() }).meta({
  id: 'ExportTraceServiceRequest',
  description: 'An OTLP ExportTraceServiceRequest in its JSON form (opentelemetry-proto 1.11).',
});

const ExportTracePartialSuccessSchema = z
  .strictObject({
    rejectedSpans: z.string().describe('How many spans were refused: an int64, in JSON a string.'),
    errorMessage: z.string(),
  })
  .meta({ id: 'ExportTracePartialSuccess' });

export const ExportTracesOutputSchema = z
  .strictObject({
    partialSuccess: ExportTracePartialSuccessSchema.optional().describe(
      'Only if spans were refused; the others are stored.',
    ),
  })
  .meta({ id: 'ExportTraceServiceResponse' });

const tag = 'Traces';

function traceNameFilter(description: string) {
  return z.string().min(1).max(256).nullish().describe(`${description} Exactly this name, in the same case.`);
}

export const ingestTraces = operation({
  method: 'POST',
  path: '/v1/traces',
  operationId: 'ingest_traces',
  scope: 'traces:write',
  transport: 'otlp',
  tag,
  summary: 'Receive spans (OTLP/HTTP)',
  description:
    'Where OpenTelemetry exporters send to: protobuf or JSON, gzip or not. Errors are google.rpc.Status in the encoding of the request. Spans are stored in the tenant of the credential. A span that the same account sent before with the same content is stored once. A trace has at most 100,000 spans.',
  body: ExportTracesInputSchema,
  output: ExportTracesOutputSchema,
  errors: ['tenant_limit_reached', 'ingest_tenant_ambiguous'],
});

export const listTraces = operation({
  method: 'GET',
  path: '/v1/traces',
  operationId: 'list_traces',
  scope: 'traces:read',
  tag,
  summary: 'List traces',
  description:
    'Lists traces, newest first: for each its root span, services, times, counts, and the models, tools and agents in it. Use it to find the trace whose spans you want to read. Filters look at a bounded number of traces for each page: a page may be short, or empty, and have a cursor.',
  query: {
    ...tenancyQueryFields,
    service_name: z.string().max(256).nullish().describe('Only traces whose first span came from this service.'),
    service: traceNameFilter('Only traces that have a span of this service.'),
    model: traceNameFilter('Only traces that name this model.'),
    tool: traceNameFilter('Only traces that name this tool.'),
    agent: traceNameFilter('Only traces that name this agent.'),
    min_duration_ms: z.int().min(0).nullish().describe('Only traces that took at least so many milliseconds.'),
    errors_only: z.boolean().nullish().describe('Only traces that have a span with the status `error`.'),
    created_after: TimestampInputSchema.nullish().describe('Only traces whose first span came in after this time.'),
    created_before: TimestampInputSchema.nullish().describe('Only traces whose first span came in before this time.'),
    ...pageFields,
  },
  output: page('TracePage', TraceSchema),
});

export const listTraceSpans = operation({
  method: 'GET',
  path: '/v1/traces/{trace_id}/spans',
  operationId: 'list_trace_spans',
  ignoresUnknownQuery: true,
  scope: 'traces:read',
  tag,
  summary: 'List the spans of a trace',
  description:
    'By start time. A page ends early when it has about 8 MiB, and then has a cursor. 404 where nothing in reach has the trace.',
  params: { trace_id: LookupIdSchema.describe('32 hex digits of any case.') },
  query: {
    ...tenancyQueryFields,
    limit: z.int().min(1).max(1000).default(1000).describe('How many at the most: 1 to 1,000.'),
    cursor: cursorField,
  },
  output: page('SpanPage', SpanSchema),
  errors: ['trace_not_found'],
});
