import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'azure-ai-projects',
    framework: 'Azure AI Projects (Microsoft Foundry)',
    packages: ['@azure/ai-projects'],
    program: 'program.ts',
    dialects: ['genai'],
    setUp: `\`\`\`ts
// npm install @azure/ai-projects @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { AIProjectClient } from '@azure/ai-projects';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
const project = new AIProjectClient(endpoint, credential, { tracingOptions: { experimental: true } });
\`\`\``,
    cannotKnow: [
      'The client sees that the model asks for a tool, not that one runs: only tools that the vendor runs are known.',
    ],
  },
];
