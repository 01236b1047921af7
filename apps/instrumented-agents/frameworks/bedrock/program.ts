/**
 * The client of Amazon Bedrock under three instrumentations: `node program.ts <openllmetry | openinference | opentelemetry>`. The
 * APIs Converse and InvokeModel, both also as streams, and a failure.
 */
import { createRequire } from 'node:module';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { MARKERS } from '../../model-server/markers.ts';
import { modelServerUrl } from '../../recorder/program.ts';

// Each is loaded alone, because OpenInference's loads the client.
const INSTRUMENTATIONS = {
  openllmetry: async () => new (await import('@traceloop/instrumentation-bedrock')).BedrockInstrumentation(),
  openinference: async () =>
    new (await import('@arizeai/openinference-instrumentation-bedrock')).BedrockInstrumentation(),
  opentelemetry: async () =>
    new (await import('@opentelemetry/instrumentation-aws-sdk')).AwsInstrumentation({
      suppressInternalInstrumentation: true,
    }),
};

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
const name = process.argv[2] as keyof typeof INSTRUMENTATIONS;
registerInstrumentations({ instrumentations: [await INSTRUMENTATIONS[name]()], tracerProvider: provider });
// Only modules that are loaded by `require` are instrumented.
const require = createRequire(import.meta.url);
const bedrock: typeof import('@aws-sdk/client-bedrock-runtime') = require('@aws-sdk/client-bedrock-runtime');
const { NodeHttpHandler }: typeof import('@smithy/node-http-handler') = require('@smithy/node-http-handler');

const modelId = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const client = new bedrock.BedrockRuntimeClient({
  endpoint: modelServerUrl,
  region: 'us-east-1',
  credentials: { accessKeyId: 'scripted', secretAccessKey: 'scripted' },
  maxAttempts: 1,
  requestHandler: new NodeHttpHandler(),
});

const conversation = (text: string) => ({
  modelId,
  system: [{ text: MARKERS.instructions }],
  messages: [{ role: 'user' as const, content: [{ text }] }],
  toolConfig: {
    tools: [{ toolSpec: { name: 'search', description: MARKERS.toolDescription, inputSchema: { json: {} } } }],
  },
});
await client.send(new bedrock.ConverseCommand(conversation(MARKERS.question)));
const { stream = [] } = await client.send(new bedrock.ConverseStreamCommand(conversation(MARKERS.question)));
for await (const event of stream) void event;

const messages = [{ role: 'user', content: MARKERS.question }];
const request = {
  modelId,
  contentType: 'application/json',
  body: JSON.stringify({
    anthropic_version: 'bedrock-2023-05-31',
    max_tokens: 100,
    system: MARKERS.instructions,
    messages,
  }),
};
await client.send(new bedrock.InvokeModelCommand(request));
const { body = [] } = await client.send(new bedrock.InvokeModelWithResponseStreamCommand(request));
for await (const event of body) void event;

await client.send(new bedrock.ConverseCommand(conversation(MARKERS.fail))).catch(() => undefined);
await provider.shutdown();
