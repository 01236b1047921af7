import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'axiom',
    framework: 'AI SDK 6 with Axiom',
    packages: ['axiom', 'ai'],
    program: 'program.ts',
    dialects: ['genai'],
    cannotKnow: [
      'The calls of the model in one `withSpan` have one span.',
      'A web search that the vendor runs leaves no trace.',
      'No span names an agent, or the MCP server of a tool.',
    ],
    setUp: `\`\`\`ts
// npm install axiom @opentelemetry/api @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText } from 'ai';
import { initAxiomAI, RedactionPolicy, withSpan, wrapAISDKModel, wrapTools } from 'axiom/ai';

new NodeSDK().start();
initAxiomAI({ tracer: trace.getTracer('<service>'), redactionPolicy: RedactionPolicy.OpenTelemetryDefault });

await withSpan({ capability: 'weather', step: 'answer' }, () =>
  generateText({ model: wrapAISDKModel(model), prompt, tools: wrapTools(tools) }),
);
\`\`\``,
  },
];
