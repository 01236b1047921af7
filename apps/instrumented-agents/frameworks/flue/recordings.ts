import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'flue',
    framework: 'Flue',
    packages: ['@flue/runtime', '@flue/opentelemetry'],
    program: 'program.ts',
    mcpOverHttp: true,
    environment: { ANTHROPIC_API_KEY: 'sk-ant-scripted' },
    dialects: ['genai'],
    setUp: `\`\`\`ts
// npm install @flue/opentelemetry @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { createOpenTelemetryInstrumentation } from '@flue/opentelemetry';
import { instrument } from '@flue/runtime';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
instrument(createOpenTelemetryInstrumentation());
\`\`\``,
    cannotKnow: ['The tool that calls a subagent has no span. The span of the subagent names its own agent.'],
  },
];
