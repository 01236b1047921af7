import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'openai-agents',
    framework: 'OpenAI Agents SDK (JavaScript) with OpenInference',
    packages: ['@openai/agents', '@arizeai/openinference-instrumentation-openai-agents'],
    program: 'program.ts',
    dialects: ['openai-agents'],
    cannotKnow: [
      'No span names the MCP server of a tool. It is known where one provider declares the tool.',
      'The span of a response names the model as the vendor answered it (gpt-5-mini-2026-01-01), not as it was requested.',
      'The span of a failed response names no model: such a call is not counted.',
    ],
    setUp: `\`\`\`ts
// npm install @openai/agents @arizeai/openinference-instrumentation-openai-agents @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents';
import * as agents from '@openai/agents';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
new OpenAIAgentsInstrumentation().manuallyInstrument(agents);
\`\`\``,
  },
];
