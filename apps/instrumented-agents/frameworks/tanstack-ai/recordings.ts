import type { RecordingDefinition } from '../../recorder/definition.ts';

const SET_UP = `\`\`\`ts
// npm install @opentelemetry/api @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { chat } from '@tanstack/ai';
import { otelMiddleware } from '@tanstack/ai/middlewares/otel';

new NodeSDK().start();
const otel = otelMiddleware({ tracer: trace.getTracer('<service>') });
// To every call: chat({ ..., middleware: [otel] })
\`\`\``;

export const recordings: RecordingDefinition[] = [
  {
    name: 'tanstack-ai',
    framework: 'TanStack AI',
    packages: ['@tanstack/ai', '@tanstack/ai-openai'],
    program: 'weather.ts',
    dialects: ['tanstack-ai', 'genai'],
    setUp: SET_UP,
    cannotKnow: [
      'There are no agents: a chat has no name.',
      'A tool of an MCP server has no server.',
      'A run that waits for an approval sends no span of its model calls.',
    ],
  },
  {
    name: 'tanstack-ai-vendors',
    framework: 'TanStack AI with the models of Anthropic and Google',
    packages: ['@tanstack/ai', '@tanstack/ai-anthropic', '@tanstack/ai-gemini'],
    program: 'vendors.ts',
    dialects: ['tanstack-ai', 'genai'],
    setUp: SET_UP,
    cannotKnow: ['There are no agents: a chat has no name.', 'A web search that the vendor runs leaves no trace.'],
  },
];
