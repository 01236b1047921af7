import type { RecordingDefinition } from '../../recorder/definition.ts';

const FRAMEWORK = 'Vercel AI SDK';

const NO_SERVER = 'No span names the MCP server of a tool. It is known where one provider declares the tool.';

/** What every version can do in addition. */
const WITHOUT_CONTENT =
  'With `recordInputs: false, recordOutputs: false` beside `functionId`, prompts and answers do not leave the application; ' +
  'tools that the vendor runs are then not seen.';

const SEARCHES_OF_GEMINI = 'Searches of Gemini are seen with `new OpenTelemetry({ providerMetadata: true })`.';

/** AI SDK 4 to 6: each call has to say that it is recorded. */
function setUpOf(version: number): string {
  return `\`\`\`ts
// npm install ai@${version} @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText } from 'ai';

new NodeSDK().start();

await generateText({
  model,
  prompt,
  experimental_telemetry: { isEnabled: true, functionId: 'weather_agent' },
});
\`\`\`

${WITHOUT_CONTENT}`;
}

/** AI SDK 7: every call is recorded once an integration is registered. */
function setUpOfSeven(integration: string): string {
  return `\`\`\`ts
// npm install ai@7 @ai-sdk/otel @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { ${integration} } from '@ai-sdk/otel';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText, registerTelemetry } from 'ai';

new NodeSDK().start();
registerTelemetry(new ${integration}());

await generateText({ model, prompt, telemetry: { functionId: 'weather_agent' } });
\`\`\`

${WITHOUT_CONTENT}`;
}

export const recordings: RecordingDefinition[] = [
  ...[4, 5, 6].map((version) => ({
    name: `vercel-ai-${version}`,
    framework: FRAMEWORK,
    packages: [`ai${version}`],
    program: `ai-${version}.ts`,
    dialects: ['vercel-ai'],
    setUp: setUpOf(version),
    cannotKnow:
      version === 4
        ? [NO_SERVER, 'A web search that the vendor runs leaves no trace: only that it was offered.']
        : [NO_SERVER],
  })),
  {
    name: 'vercel-ai-6-vendors',
    framework: `${FRAMEWORK} with Anthropic and Google`,
    packages: ['ai6', 'ai6-anthropic', 'ai6-google'],
    program: 'ai-6-vendors.ts',
    dialects: ['vercel-ai'],
    setUp: setUpOf(6),
    cannotKnow: [NO_SERVER, "Google's answer to an embedding has no token counts."],
  },
  {
    name: 'vercel-ai-7',
    framework: FRAMEWORK,
    packages: ['ai7', '@ai-sdk/otel'],
    program: 'ai-7.ts',
    dialects: ['vercel-ai-7'],
    setUp: `${setUpOfSeven('OpenTelemetry')} ${SEARCHES_OF_GEMINI}`,
    cannotKnow: [NO_SERVER],
  },
  {
    name: 'vercel-ai-7-laminar',
    framework: `${FRAMEWORK} with Laminar`,
    packages: ['ai7', '@lmnr-ai/lmnr'],
    program: 'ai-7.ts',
    args: ['laminar'],
    dialects: ['vercel-ai'],
    setUp: `\`\`\`ts
// npm install ai@7 @lmnr-ai/lmnr
import { Laminar, LaminarAiSdkTelemetry } from '@lmnr-ai/lmnr';
import { registerTelemetry } from 'ai';

Laminar.initialize({
  projectApiKey: '<key>', // sent as a bearer token
  baseUrl: "<Quartermaster's URL, without its port>",
  httpPort: 443,
  forceHttp: true,
});
registerTelemetry(new LaminarAiSdkTelemetry());
\`\`\``,
    cannotKnow: [NO_SERVER, 'The span of an embedding has no token counts.'],
  },
  {
    name: 'vercel-ai-7-legacy',
    framework: `${FRAMEWORK} with LegacyOpenTelemetry`,
    packages: ['ai7', '@ai-sdk/otel'],
    program: 'ai-7.ts',
    args: ['legacy'],
    dialects: ['vercel-ai'],
    setUp: setUpOfSeven('LegacyOpenTelemetry'),
    cannotKnow: [NO_SERVER, 'A tool that runs after an approval has no span.'],
  },
  {
    name: 'vercel-ai-7-openinference',
    framework: `${FRAMEWORK} with OpenInference`,
    packages: ['ai7', '@arizeai/openinference-vercel'],
    program: 'ai-7.ts',
    args: ['openinference'],
    dialects: ['vercel-ai-7'],
    setUp: `\`\`\`ts
// npm install ai@7 @ai-sdk/otel @arizeai/openinference-vercel @opentelemetry/exporter-trace-otlp-proto @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { OpenTelemetry } from '@ai-sdk/otel';
import { OpenInferenceBatchSpanProcessor } from '@arizeai/openinference-vercel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { registerTelemetry } from 'ai';

new NodeSDK({ spanProcessors: [new OpenInferenceBatchSpanProcessor({ exporter: new OTLPTraceExporter() })] }).start();
registerTelemetry(new OpenTelemetry());
\`\`\``,
    cannotKnow: [NO_SERVER],
  },
  {
    name: 'vercel-ai-6-langsmith',
    framework: 'AI SDK 6 with LangSmith',
    packages: ['ai6', 'langsmith'],
    program: 'langsmith.ts',
    environment: { LANGSMITH_TRACING: 'true', LANGSMITH_TRACING_MODE: 'otel' },
    dialects: ['langsmith'],
    setUp: `\`\`\`ts
// npm install langsmith @opentelemetry/sdk-trace-base@2 @opentelemetry/context-async-hooks@2 @opentelemetry/exporter-trace-otlp-proto
// LANGSMITH_TRACING=true LANGSMITH_TRACING_MODE=otel
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
import * as ai from 'ai';
import { initializeOTEL } from 'langsmith/experimental/otel/setup';
import { wrapAISDK } from 'langsmith/experimental/vercel';

initializeOTEL();
const { generateText, streamText } = wrapAISDK(ai);
\`\`\``,
  },
];
