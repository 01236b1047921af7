import { z } from 'zod';
import { operation } from './operation.ts';

export const ExportLogsInputSchema = z.looseObject({ resourceLogs: z.array(z.unknown()).optional() }).meta({
  id: 'ExportLogsServiceRequest',
  description: 'An OTLP ExportLogsServiceRequest in its JSON form (opentelemetry-proto 1.11).',
});

const ExportLogsPartialSuccessSchema = z
  .strictObject({
    rejectedLogRecords: z.string().describe('How many log records were refused: an int64, in JSON a string.'),
    errorMessage: z.string(),
  })
  .meta({ id: 'ExportLogsPartialSuccess' });

export const ExportLogsOutputSchema = z
  .strictObject({
    partialSuccess: ExportLogsPartialSuccessSchema.optional().describe(
      'Only if log records were refused; the others are taken.',
    ),
  })
  .meta({ id: 'ExportLogsServiceResponse' });

export const ingestLogs = operation({
  method: 'POST',
  path: '/v1/logs',
  operationId: 'ingest_logs',
  scope: 'traces:write',
  transport: 'otlp',
  tag: 'Traces',
  summary: 'Receive log records (OTLP/HTTP)',
  description:
    'Where OpenTelemetry log exporters send to, as `POST /v1/traces` for spans. Events of coding agents that tell of model and tool calls are counted like spans, each call once. No log record is stored: all other records are accepted and dropped.',
  body: ExportLogsInputSchema,
  output: ExportLogsOutputSchema,
  errors: ['ingest_tenant_ambiguous'],
});
