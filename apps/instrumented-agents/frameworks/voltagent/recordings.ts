import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'voltagent',
    framework: 'VoltAgent',
    packages: ['@voltagent/core'],
    program: 'program.ts',
    dialects: ['voltagent'],
    cannotKnow: [
      'One span covers all requests of a run to the model: 3 requests fewer than were made. The tokens are on the span of the agent.',
      'No span names the vendor of a model, unless the model is written as <provider>/<model>.',
      'A web search that the vendor runs leaves no trace.',
      'A tool that a hook (`onToolStart`) stops counts as a failed call.',
    ],
    setUp: `\`\`\`ts
// npm install @opentelemetry/exporter-trace-otlp-proto @opentelemetry/sdk-trace-base
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { VoltAgent, VoltAgentObservability } from '@voltagent/core';

const observability = new VoltAgentObservability({
  serviceName: '<service>',
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});

new VoltAgent({ agents, observability });
\`\`\``,
  },
];
