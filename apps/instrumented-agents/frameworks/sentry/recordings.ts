import type { RecordingDefinition } from '../../recorder/definition.ts';

const SET_UP = `\`\`\`ts
// npm install @sentry/node@10 @opentelemetry/exporter-trace-otlp-proto@0.223 @opentelemetry/sdk-trace-base@2
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
// telemetry.ts: run the program with node --import ./telemetry.ts
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import * as Sentry from '@sentry/node';

Sentry.init({
  dsn: '<Sentry project>',
  tracesSampleRate: 1,
  openTelemetrySpanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
\`\`\`

Version 11 of \`@sentry/node\` sends its spans to Sentry alone. Add an instrumentation for OpenTelemetry to the program then, such as
one of those on this page.`;

export const recordings: RecordingDefinition[] = [
  {
    name: 'sentry',
    framework: 'Sentry SDK for Node.js (OpenAI client, AI SDK and MCP server)',
    packages: ['@sentry/node', 'openai', 'ai'],
    program: 'program.ts',
    environment: { NODE_OPTIONS: '--import ./telemetry.ts' },
    dialects: ['sentry'],
    setUp: SET_UP,
    cannotKnow: ['A web search that the vendor runs has no span, and is in no attribute.'],
  },
  {
    name: 'sentry-vendors',
    framework: "Sentry with Anthropic's and Google's clients",
    packages: ['@sentry/node', '@anthropic-ai/sdk', '@google/genai'],
    program: 'vendors.ts',
    environment: { NODE_OPTIONS: '--import ./telemetry.ts' },
    dialects: ['sentry'],
    setUp: SET_UP,
    cannotKnow: [
      'A search that Google runs leaves no trace.',
      'The span of an embedding has no token counts.',
      'Calls of @anthropic-ai/sdk 1 or newer and of @google/genai 2 or newer have no span.',
    ],
  },
];
