import { z } from 'zod';
import { LookupIdSchema, TimestampInputSchema, TimestampSchema, tenancyFields, tenancyQueryFields } from './fields.ts';
import { UseStateSchema } from './graph.ts';
import { operation } from './operation.ts';
import { cursorField, page, pageFields } from './pages.ts';

const NanoTimeSchema = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{9}Z$/)
  .meta({ id: 'NanoTimestamp', description: 'An RFC 3339 time in UTC with nanoseconds.' });

const AttributesSchema = z.record(z.string(), z.unknown()).meta({
  id: 'Attributes',
  description:
    'OpenTelemetry attributes: values by name. `quartermaster.omitted` lists the names of attributes that were not stored because they may hold content, at most 64. `quartermaster.omitted.count` is their number.',
});

const SpanStatusSchema = z
  .strictObject({ code: z.enum(['unset', 'ok', 'error']), message: z.string().nullable() })
  .meta({ id: 'SpanStatus', description: 'The status of a span.' });

const InstrumentationScopeSchema = z
  .strictObject({ name: z.string(), version: z.string().nullable(), attributes: AttributesSchema })
  .meta({ id: 'InstrumentationScope', description: 'The instrumentation library that created the span.' });

const SpanEventSchema = z
  .strictObject({ name: z.string(), time: NanoTimeSchema, attributes: AttributesSchema })
  .meta({ id: 'SpanEvent', description: 'An event within a span.' });

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
  .meta({ id: 'SpanGenAi', description: "What a span reports in OpenTelemetry's GenAI conventions." });

export const SpanSchema = z
  .strictObject({
    traceId: z.string().describe('32 hex digits, lower case.'),
    spanId: z.string().describe('16 hex digits, lower case.'),
    parentSpanId: z.string().nullable().describe('The id of the parent span. Null for a root span.'),
    ...tenancyFields,
    name: z.string(),
    kind: z.enum(['unspecified', 'internal', 'server', 'client', 'producer', 'consumer']),
    startTime: NanoTimeSchema,
    endTime: NanoTimeSchema,
    durationMs: z.number().describe('The duration in milliseconds.'),
    status: SpanStatusSchema,
    serviceName: z.string().nullable().describe('The resource attribute `service.name`.'),
    scope: InstrumentationScopeSchema,
    resource: AttributesSchema,
    attributes: AttributesSchema,
    events: z.array(SpanEventSchema),
    links: z.array(SpanLinkSchema),
    genAi: SpanGenAiSchema.nullable().describe(
      "What the span reports in OpenTelemetry's GenAI conventions. Null if it reports nothing.",
    ),
    createdAt: TimestampSchema.describe('When the span was received.'),
    updatedAt: TimestampSchema.describe('The same as `createdAt`, because spans do not change.'),
    receivedFrom: z
      .string()
      .describe('The account that sent the span: `user:<id>` or `service_account:<tenant>/<id>`.'),
    conflicting: z
      .boolean()
      .describe(
        'Whether the trace has another span with this id, either from another account, or from the same account with different content.',
      ),
  })
  .meta({
    id: 'Span',
    description:
      'One span of a trace. Message bodies and tool arguments are left out unless the tenant captures content.',
  });
export type Span = z.infer<typeof SpanSchema>;

const FailedKindSchema = z.enum(['model', 'tool', 'agent']).meta({
  id: 'FailedKind',
  description: 'What a failed call called.',
});

const TraceFailureSchema = z
  .strictObject({
    kind: FailedKindSchema,
    name: z.string().max(200).describe('The name as the span reports it, cut at 200 characters.'),
    errorType: z
      .string()
      .max(200)
      .nullable()
      .describe(
        'The class of the error: `error.type` of the span, or the type of its exception. Null if neither is a name.',
      ),
  })
  .meta({ id: 'TraceFailure', description: 'A model, tool or agent of which a call failed.' });
export type TraceFailure = z.infer<typeof TraceFailureSchema>;

const TraceNamesSchema = z.array(z.string().max(200)).max(20);

export const TraceSchema = z
  .strictObject({
    traceId: z.string(),
    ...tenancyFields,
    rootName: z.string().nullable().describe('The name of the root span. Null until it is received.'),
    serviceName: z.string().nullable(),
    startTime: NanoTimeSchema,
    endTime: NanoTimeSchema,
    durationMs: z
      .int()
      .min(0)
      .describe('The time from the first start to the last end of its spans, in whole milliseconds.'),
    spanCount: z.int().describe('How many spans the trace has.'),
    errorCount: z.int().describe('How many of its spans have the status `error`.'),
    services: TraceNamesSchema.describe(
      'The services that its spans came from: the first 20, each cut to 200 characters.',
    ),
    models: TraceNamesSchema.describe('The models that its spans name: the first 20.'),
    tools: TraceNamesSchema.describe('The tools that its spans name: the first 20.'),
    agents: TraceNamesSchema.describe('The agents that its spans name: the first 20.'),
    failures: z
      .array(TraceFailureSchema)
      .max(20)
      .describe('What its failed calls called: the first 20 combinations of kind, name and error class.'),
    createdAt: TimestampSchema.describe('When its first span was received.'),
    updatedAt: TimestampSchema.describe('When its last span was received.'),
  })
  .meta({ id: 'Trace', description: 'The spans with one trace id in one tenant or sub-tenant, summarized.' });
export type Trace = z.infer<typeof TraceSchema>;

export const ExportTracesInputSchema = z.looseObject({ resourceSpans: z.array(z.unknown()).optional() }).meta({
  id: 'ExportTraceServiceRequest',
  description: 'An OTLP ExportTraceServiceRequest in JSON (opentelemetry-proto 1.11).',
});

const ExportTracePartialSuccessSchema = z
  .strictObject({
    rejectedSpans: z.string().describe('How many spans were refused: an int64 as a JSON string.'),
    errorMessage: z.string(),
  })
  .meta({ id: 'ExportTracePartialSuccess', description: 'How many spans were refused, and why.' });

export const ExportTracesOutputSchema = z
  .strictObject({
    partialSuccess: ExportTracePartialSuccessSchema.optional().describe(
      'Present only if spans were refused. The others were stored.',
    ),
  })
  .meta({ id: 'ExportTraceServiceResponse', description: 'An OTLP ExportTraceServiceResponse.' });

const tag = 'Traces';

function traceNameFilter(description: string) {
  return z.string().min(1).max(256).nullish().describe(`${description} The name must match exactly, including case.`);
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
    'The endpoint for OpenTelemetry exporters. The body is protobuf or JSON, with gzip, deflate (the zlib format) or zstd, or without compression. Errors are google.rpc.Status messages in the encoding of the request. Spans are stored in the tenant and sub-tenant of the credential. A span that the same account sends again with the same content is stored once. A trace has at most 100,000 spans of one account.',
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
    'Lists traces by the start of their first span, newest first. Each has its root span, services, times and counts, the models, tools and agents that its spans name, and which calls failed. Filters read a limited number of traces for each page, so a page may be short or empty although more follow. A trace of which an earlier span arrives while you read page after page may come twice.',
  query: {
    ...tenancyQueryFields,
    service_name: z.string().max(256).nullish().describe('Only traces whose first span came from this service.'),
    service: traceNameFilter('Only traces that have a span of this service.'),
    model: traceNameFilter('Only traces that name this model.'),
    tool: traceNameFilter('Only traces that name this tool.'),
    agent: traceNameFilter('Only traces that name this agent.'),
    min_duration_ms: z.int().min(0).nullish().describe('Only traces with at least this duration, in milliseconds.'),
    errors_only: z.boolean().nullish().describe('If true: only traces that have a span with the status `error`.'),
    failed_kind: FailedKindSchema.nullish().describe('Only traces in which a call of this kind failed.'),
    failed_name: traceNameFilter(
      'Only traces in which a call of the model, tool or agent with this name failed; with `failed_kind`: of this kind.',
    ),
    started_after: TimestampInputSchema.nullish().describe(
      'Only traces whose first span started at this time or later.',
    ),
    started_before: TimestampInputSchema.nullish().describe('Only traces whose first span started before this time.'),
    created_after: TimestampInputSchema.nullish().describe(
      'Only traces whose first span was received after this time.',
    ),
    created_before: TimestampInputSchema.nullish().describe(
      'Only traces whose first span was received before this time.',
    ),
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
    "Lists the spans of a trace by start time. A page ends early when it reaches about 8 MiB, and then has a cursor. 404 if no tenant in the caller's reach has the trace.",
  params: { trace_id: LookupIdSchema.describe('The id of the trace: 32 hex digits, upper or lower case.') },
  query: {
    ...tenancyQueryFields,
    span_id: z
      .string()
      .regex(/^[0-9A-Fa-f]{16}$/)
      .nullish()
      .describe('Only the spans with this id: 16 hex digits, in any case.'),
    limit: z.int().min(1).max(1000).default(1000).describe('The maximum number of spans on a page: 1 to 1,000.'),
    cursor: cursorField,
  },
  output: page('SpanPage', SpanSchema),
  errors: ['trace_not_found'],
});

/** The maximum number of spans in one answer of a waterfall. */
export const MAX_WATERFALL_SPANS = 10_000;

const SpanOutlineGenAiSchema = SpanGenAiSchema.pick({ operation: true, model: true, agent: true, tool: true }).meta({
  id: 'SpanOutlineGenAi',
  description: "What a span reports in OpenTelemetry's GenAI conventions, without tokens.",
});

const SpanUseSchema = z
  .strictObject({
    kind: z.enum(['model', 'tool', 'agent']),
    name: z.string().max(200).describe('The name as the span reports it, cut at 200 characters.'),
    state: UseStateSchema.describe('The state now. If several providers have the name, the worst state counts.'),
    observationId: z.string().describe('The runtime observation of the name.'),
  })
  .meta({ id: 'SpanUse', description: 'A model, tool or agent that a span names, and whether it is declared.' });
export type SpanUse = z.infer<typeof SpanUseSchema>;

export const SpanOutlineSchema = z
  .strictObject({
    spanId: z.string(),
    parentSpanId: z.string().nullable(),
    ...tenancyFields,
    name: z.string().max(200).describe('Cut at 200 characters.'),
    kind: SpanSchema.shape.kind,
    startTime: NanoTimeSchema,
    durationMs: z.number(),
    error: z.boolean().describe('Whether its status is `error`.'),
    errorType: TraceFailureSchema.shape.errorType,
    serviceName: z.string().nullable(),
    genAi: SpanOutlineGenAiSchema.nullable(),
    uses: z
      .array(SpanUseSchema)
      .max(3)
      .describe(
        'The tool, model and agent that the span names: first the one that it calls. Only those with a runtime observation that the caller may read (`runtime_observations:read`), and only for the first 500 names of an answer.',
      ),
    conflicting: z.boolean().describe('Whether the trace has another span with this id.'),
  })
  .meta({ id: 'SpanOutline', description: 'A span of a waterfall, without its attributes, events and links.' });
export type SpanOutline = z.infer<typeof SpanOutlineSchema>;

export const getTraceWaterfall = operation({
  method: 'GET',
  path: '/v1/traces/{trace_id}/waterfall',
  operationId: 'get_trace_waterfall',
  scope: 'traces:read',
  tag,
  summary: 'Get the waterfall of a trace',
  description:
    'Lists the spans of a trace by start time, in a short form: at most 10,000 in one answer, which may have several megabytes. The answer ends early, with a cursor, once more than 64 MiB of spans and attributes were read. It takes a further point of the rate limit for every 1,000 spans.',
  params: { trace_id: LookupIdSchema.describe('32 hex digits, in any case.') },
  query: {
    ...tenancyQueryFields,
    limit: z
      .int()
      .min(1)
      .max(MAX_WATERFALL_SPANS)
      .default(MAX_WATERFALL_SPANS)
      .describe('The maximum number of spans: 1 to 10,000.'),
    cursor: cursorField,
  },
  output: page('SpanOutlinePage', SpanOutlineSchema),
  errors: ['trace_not_found'],
});
