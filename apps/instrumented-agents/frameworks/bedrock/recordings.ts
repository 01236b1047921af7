import type { RecordingDefinition } from '../../recorder/definition.ts';

const CACHED = 'Bedrock counts tokens that are read from a cache separately, and no attribute has their number';

export const recordings: RecordingDefinition[] = [
  {
    name: 'bedrock-openllmetry',
    framework: 'Amazon Bedrock with OpenLLMetry',
    packages: ['@traceloop/instrumentation-bedrock', '@aws-sdk/client-bedrock-runtime'],
    program: 'program.ts',
    args: ['openllmetry'],
    dialects: ['openllmetry'],
    setUp: setUp('BedrockInstrumentation', '@traceloop/instrumentation-bedrock'),
    cannotKnow: [
      'The model’s id is written without region and maker. An inventory item without the region covers both spellings.',
      'Spans of the Converse API and of streams have no tokens.',
      `${CACHED}.`,
    ],
  },
  {
    name: 'bedrock-openinference',
    framework: 'Amazon Bedrock with OpenInference',
    packages: ['@arizeai/openinference-instrumentation-bedrock', '@aws-sdk/client-bedrock-runtime'],
    program: 'program.ts',
    args: ['openinference'],
    dialects: ['openinference'],
    setUp: setUp('BedrockInstrumentation', '@arizeai/openinference-instrumentation-bedrock'),
    cannotKnow: [
      'For InvokeModel, the id of a model with a region is cut to the name of its maker. Only an answer that is not a stream names the model.',
    ],
  },
  {
    name: 'bedrock-opentelemetry',
    framework: 'Amazon Bedrock with OpenTelemetry',
    packages: ['@opentelemetry/instrumentation-aws-sdk', '@aws-sdk/client-bedrock-runtime'],
    program: 'program.ts',
    args: ['opentelemetry'],
    dialects: ['genai'],
    setUp: setUp('AwsInstrumentation', '@opentelemetry/instrumentation-aws-sdk'),
    cannotKnow: [`${CACHED}.`, 'The output tokens of a streamed InvokeModel are those of its first event.'],
  },
];

function setUp(instrumentation: string, from: string): string {
  return `\`\`\`js
// npm install ${from} @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
// telemetry.cjs: run the program with node --require ./telemetry.cjs. Only modules that are loaded by require are instrumented.
const { NodeSDK } = require('@opentelemetry/sdk-node');
const { ${instrumentation} } = require('${from}');

new NodeSDK({ instrumentations: [new ${instrumentation}()] }).start();
\`\`\``;
}
