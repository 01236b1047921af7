import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'mistral',
    framework: 'Mistral SDK',
    packages: ['@mistralai/mistralai'],
    program: 'program.ts',
    dialects: ['mistral'],
    setUp: `\`\`\`ts
// npm install @mistralai/mistralai @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { Mistral } from '@mistralai/mistralai';
import { configureTelemetry } from '@mistralai/mistralai/extra/observability';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
const client = new Mistral();
await configureTelemetry(client, 'global');
\`\`\``,
    cannotKnow: [
      'The client sees that the model asks for a tool, not that one runs: only tools that the vendor runs have spans.',
    ],
  },
];
