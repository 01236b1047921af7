import { z } from 'zod';
import { operation } from './operation.ts';

export const ExportMetricsInputSchema = z.looseObject({ resourceMetrics: z.array(z.unknown()).optional() }).meta({
  id: 'ExportMetricsServiceRequest',
  description: 'An OTLP ExportMetricsServiceRequest in its JSON form (opentelemetry-proto 1.11).',
});

const ExportMetricsPartialSuccessSchema = z
  .strictObject({
    rejectedDataPoints: z.string().describe('How many data points were refused: an int64, in JSON a string.'),
    errorMessage: z.string(),
  })
  .meta({ id: 'ExportMetricsPartialSuccess' });

export const ExportMetricsOutputSchema = z
  .strictObject({
    partialSuccess: ExportMetricsPartialSuccessSchema.optional().describe('Never sent: no data point is refused.'),
  })
  .meta({ id: 'ExportMetricsServiceResponse' });

export const ingestMetrics = operation({
  method: 'POST',
  path: '/v1/metrics',
  operationId: 'ingest_metrics',
  scope: 'traces:write',
  transport: 'otlp',
  tag: 'Traces',
  summary: 'Receive metrics (OTLP/HTTP)',
  description:
    'Accepts what OpenTelemetry metric exporters send, and drops it, so that an exporter that is switched on for all signals does not fail. Calls and tokens are counted from spans and log records.',
  body: ExportMetricsInputSchema,
  output: ExportMetricsOutputSchema,
  errors: ['ingest_tenant_ambiguous'],
});
