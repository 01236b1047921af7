import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'beeai',
    framework: 'BeeAI with OpenInference',
    packages: ['beeai-framework', '@arizeai/openinference-instrumentation-beeai'],
    program: 'weather.ts',
    dialects: ['beeai'],
    setUp: `\`\`\`ts
// npm install @arizeai/openinference-instrumentation-beeai @opentelemetry/sdk-node. It needs beeai-framework 0.1.9 to 0.1.13.
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { BeeAIInstrumentation } from '@arizeai/openinference-instrumentation-beeai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import * as beeai from 'beeai-framework';

new NodeSDK().start();
new BeeAIInstrumentation().manuallyInstrument(beeai);
\`\`\``,
    cannotKnow: [
      'An agent is named by its class (ToolCallingAgent): its own name is in no span.',
      'The names of tools are written in camel case; they are read as snake case (getWeather as get_weather).',
      'A tool of an MCP server has no server.',
    ],
  },
];
