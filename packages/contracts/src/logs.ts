import { z } from 'zod';
import { operation } from './operation.ts';

export const ExportLogsInputSchema = z.looseObject({ resourceLogs: z.array(z.unknown()).optional() }).meta({
  id: 'ExportLogsServiceRequest',
  description: 'An OTLP ExportLogsServiceRequest in JSON (opentelemetry-proto 1.11).',
});

const ExportLogsPartialSuccessSchema = z
  .strictObject({
    rejectedLogRecords: z.string().describe('How many log records were refused: an int64 as a JSON string.'),
    errorMessage: z.string(),
  })
  .meta({ id: 'ExportLogsPartialSuccess', description: 'How many log records were refused, and why.' });

export const ExportLogsOutputSchema = z
  .strictObject({
    partialSuccess: ExportLogsPartialSuccessSchema.optional().describe(
      'Present only if log records were refused. The others were accepted.',
    ),
  })
  .meta({ id: 'ExportLogsServiceResponse', description: 'An OTLP ExportLogsServiceResponse.' });

export const ingestLogs = operation({
  method: 'POST',
  path: '/v1/logs',
  operationId: 'ingest_logs',
  scope: 'traces:write',
  transport: 'otlp',
  tag: 'Traces',
  summary: 'Receive log records (OTLP/HTTP)',
  description:
    'The endpoint for OpenTelemetry log exporters, in the encodings of `POST /v1/traces`. Log records of coding agents that report model and tool calls are counted like spans, each call once. All other records are accepted and dropped. No log record is stored.',
  body: ExportLogsInputSchema,
  output: ExportLogsOutputSchema,
  errors: ['tenant_limit_reached', 'ingest_tenant_ambiguous'],
});
