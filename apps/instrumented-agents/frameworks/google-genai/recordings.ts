import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'google-genai-openllmetry',
    framework: 'Google GenAI SDK with OpenLLMetry',
    packages: ['@traceloop/instrumentation-google-generativeai', '@google/genai'],
    program: 'program.ts',
    dialects: ['openllmetry'],
    setUp: `\`\`\`ts
// npm install @traceloop/instrumentation-google-generativeai @opentelemetry/sdk-node @google/genai
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import * as genai from '@google/genai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { GenAIInstrumentation } from '@traceloop/instrumentation-google-generativeai';

new NodeSDK().start();
// The names that an ES module exports cannot be replaced, so the client is made from a copy.
const patched = { ...genai };
new GenAIInstrumentation().manuallyInstrument(patched);
const client = new patched.GoogleGenAI({});
\`\`\``,
    cannotKnow: [
      'The client sees that the model asks for a tool, not that one runs: tools and agents have no spans.',
      'A search that the vendor runs has no span, and is in no attribute.',
      'Embeddings have no spans.',
    ],
  },
];
