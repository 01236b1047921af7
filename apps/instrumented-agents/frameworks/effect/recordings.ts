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
// npm install effect@3 @effect/opentelemetry@0.64 @opentelemetry/sdk-trace-base @opentelemetry/exporter-trace-otlp-proto
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
  {
    name: 'effect-4',
    framework: 'Effect AI',
    packages: ['effect-4'],
    program: 'program-4.ts',
    dialects: ['genai'],
    cannotKnow: [
      'If an answer asks for several tools, only the one that was called last is named: on the span of the model, or after ' +
        '`streamText` on the span around it. Without such a span it is not named.',
      'The span of an embedding has no attributes: it names no model.',
      'Effect has no agents.',
    ],
    setUp: `\`\`\`ts
// npm install effect@4. Or use @effect/opentelemetry@4 with an exporter of OpenTelemetry.
import { Effect } from 'effect';
import { FetchHttpClient } from 'effect/http';
import { Otlp } from 'effect/observability';

const telemetry = Otlp.layerJson({
  baseUrl: "<Quartermaster's URL>",
  resource: { serviceName: '<service>' },
  headers: { 'x-api-key': '<key>' },
});
program.pipe(Effect.provide(telemetry), Effect.provide(FetchHttpClient.layer), Effect.runPromise);
\`\`\``,
  },
];
