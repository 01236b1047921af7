import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'openai-agents',
    framework: 'OpenAI Agents SDK (JavaScript) with OpenInference',
    packages: ['@openai/agents', '@arizeai/openinference-instrumentation-openai-agents'],
    program: 'program.ts',
    dialects: ['openinference'],
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
