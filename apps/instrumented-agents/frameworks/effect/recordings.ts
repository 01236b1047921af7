import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'effect',
    framework: 'Effect AI',
    packages: ['@effect/ai', '@effect/ai-openai', '@effect/opentelemetry'],
    program: 'program.ts',
    dialects: ['genai'],
    cannotKnow: [
      'A web search that the vendor runs leaves no trace.',
      'The span of an embedding has no attributes: it names no model.',
      'Effect has no agents.',
    ],
    setUp: `\`\`\`ts
// npm install @effect/opentelemetry @opentelemetry/sdk-trace-base @opentelemetry/exporter-trace-otlp-proto
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
import { NodeSdk } from '@effect/opentelemetry';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const telemetry = NodeSdk.layer(() => ({
  resource: { serviceName: '<service>' },
  spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter()),
}));
program.pipe(Effect.provide(telemetry), Effect.runPromise);
\`\`\``,
  },
];
