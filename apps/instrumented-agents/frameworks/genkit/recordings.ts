import type { RecordingDefinition } from '../../recorder/definition.ts';

const SET_UP = `\`\`\`ts
// npm install @opentelemetry/exporter-trace-otlp-proto @opentelemetry/sdk-trace-base
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { enableTelemetry } from 'genkit/tracing';

await enableTelemetry({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
\`\`\``;

const CANNOT_KNOW = ['The span of an embedding has no token counts.'];

export const recordings: RecordingDefinition[] = [
  {
    name: 'genkit',
    framework: 'Genkit',
    packages: ['genkit', '@genkit-ai/compat-oai', '@genkit-ai/mcp'],
    program: 'program.ts',
    dialects: ['genkit'],
    cannotKnow: CANNOT_KNOW,
    setUp: SET_UP,
  },
  {
    name: 'genkit-vendors',
    framework: "Genkit with Google's and Anthropic's plugins",
    packages: ['genkit', '@genkit-ai/google-genai', '@genkit-ai/anthropic', '@genkit-ai/mcp'],
    program: 'vendors.ts',
    dialects: ['genkit'],
    cannotKnow: CANNOT_KNOW,
    setUp: SET_UP,
  },
];
