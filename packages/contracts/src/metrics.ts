import { z } from 'zod';
import { operation } from './operation.ts';

export const ExportMetricsInputSchema = z.looseObject({ resourceMetrics: z.array(z.unknown()).optional() }).meta({
  id: 'ExportMetricsServiceRequest',
  description: 'An OTLP ExportMetricsServiceRequest in JSON (opentelemetry-proto 1.11).',
});

const ExportMetricsPartialSuccessSchema = z
  .strictObject({
    rejectedDataPoints: z.string().describe('How many data points were refused: an int64 as a JSON string.'),
    errorMessage: z.string(),
  })
  .meta({ id: 'ExportMetricsPartialSuccess', description: 'How many data points were refused, and why.' });

export const ExportMetricsOutputSchema = z
  .strictObject({
    partialSuccess: ExportMetricsPartialSuccessSchema.optional().describe(
      'Never present, because no data point is refused.',
    ),
  })
  .meta({ id: 'ExportMetricsServiceResponse', description: 'An OTLP ExportMetricsServiceResponse.' });

export const ingestMetrics = operation({
  method: 'POST',
  path: '/v1/metrics',
  operationId: 'ingest_metrics',
  scope: 'traces:write',
  transport: 'otlp',
  tag: 'Traces',
  summary: 'Receive metrics (OTLP/HTTP)',
  description:
    'Accepts metrics from OpenTelemetry exporters and drops them, so that an exporter for all signals does not fail. Calls and tokens are counted from spans and log records.',
  body: ExportMetricsInputSchema,
  output: ExportMetricsOutputSchema,
  errors: ['ingest_tenant_ambiguous'],
});
