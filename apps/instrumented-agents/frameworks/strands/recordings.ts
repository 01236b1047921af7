import type { RecordingDefinition } from '../../recorder/definition.ts';

const SET_UP = `\`\`\`ts
// npm install @opentelemetry/sdk-trace-base @opentelemetry/sdk-trace-node @opentelemetry/exporter-trace-otlp-http
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { setupTracer } from '@strands-agents/sdk/telemetry';

setupTracer({ exporters: { otlp: true } });
\`\`\``;

export const recordings: RecordingDefinition[] = [
  {
    name: 'strands',
    framework: 'Strands',
    packages: ['@strands-agents/sdk'],
    program: 'weather.ts',
    dialects: ['strands'],
    setUp: SET_UP,
    cannotKnow: [
      'The vendor is written as the name of the service: a model belongs to the declared provider that has it.',
      'A tool of an MCP server has no server.',
    ],
  },
  {
    name: 'strands-latest',
    framework: 'Strands with the latest conventions',
    packages: ['@strands-agents/sdk'],
    program: 'weather.ts',
    environment: {
      OTEL_SEMCONV_STABILITY_OPT_IN: 'gen_ai_latest_experimental,gen_ai_tool_definitions,gen_ai_span_attributes_only',
    },
    dialects: ['strands'],
    setUp: `\`\`\`ts
// npm install @opentelemetry/sdk-trace-base @opentelemetry/sdk-trace-node @opentelemetry/exporter-trace-otlp-http
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
// OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental
import { setupTracer } from '@strands-agents/sdk/telemetry';

setupTracer({ exporters: { otlp: true } });
\`\`\``,
    cannotKnow: [
      'The vendor is written as the name of the service: a model belongs to the declared provider that has it.',
      'A tool of an MCP server has no server.',
    ],
  },
  {
    name: 'strands-vendors',
    framework: 'Strands with the models of Anthropic and Google',
    packages: ['@strands-agents/sdk', '@anthropic-ai/sdk', '@google/genai'],
    program: 'vendors.ts',
    dialects: ['strands'],
    setUp: SET_UP,
    cannotKnow: [
      'The vendor is written as the name of the service: a model belongs to the declared provider that has it.',
      'A web search that the vendor runs leaves no trace.',
    ],
  },
];
