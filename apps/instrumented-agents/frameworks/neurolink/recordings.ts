import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'neurolink',
    framework: 'NeuroLink',
    packages: ['@juspay/neurolink'],
    program: 'weather.ts',
    dialects: ['neurolink'],
    setUp: `\`\`\`ts
// npm install @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
\`\`\``,
    cannotKnow: [
      'An answer has one span, however often the model is asked while tools are called, and the tokens of the last request.',
      'A stream of a Google model has no tokens. With tools, an answer of Gemini 3 has those of all requests without the tokens of thinking.',
    ],
  },
];
