import type { RecordingDefinition } from '../../recorder/definition.ts';

const VARIABLES = `// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>`;

const NO_TOOLS = 'The client sees that the model asks for a tool, not that one runs: tools and agents have no spans.';
const NO_VENDOR_TOOLS = 'A web search that the vendor runs has no span, and is in no attribute.';
const NO_FAILED_CALLS =
  'A call that is refused has no span: the instrumentation ends the spans of successful calls only.';
const NO_EMBEDDINGS = 'Embeddings have no spans.';

export const recordings: RecordingDefinition[] = [
  {
    name: 'openai-langfuse',
    framework: 'OpenAI SDK with Langfuse',
    packages: ['@langfuse/openai', '@langfuse/otel', 'openai7'],
    program: 'langfuse.ts',
    dialects: ['langfuse'],
    setUp: `\`\`\`ts
// npm install @langfuse/openai @langfuse/otel @opentelemetry/sdk-node @opentelemetry/exporter-trace-otlp-proto
${VARIABLES}
import { observeOpenAI } from '@langfuse/openai';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import OpenAI from 'openai';

const toQuartermaster = new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() });
new NodeSDK({ spanProcessors: [toQuartermaster] }).start();
const client = observeOpenAI(new OpenAI());
\`\`\``,
    cannotKnow: [NO_VENDOR_TOOLS, 'The span of an embedding has no token counts.'],
  },
  {
    name: 'langfuse-sdk',
    framework: "Langfuse's SDK",
    packages: ['@langfuse/tracing', '@langfuse/otel', 'openai7', '@anthropic-ai/sdk'],
    program: 'langfuse-sdk.ts',
    dialects: ['langfuse', 'anthropic-sdk'],
    setUp: `\`\`\`ts
// npm install @langfuse/tracing @langfuse/otel @opentelemetry/sdk-node @opentelemetry/exporter-trace-otlp-proto
${VARIABLES}
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { observe } from '@langfuse/tracing';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';

const toQuartermaster = new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() });
new NodeSDK({ spanProcessors: [toQuartermaster] }).start();
const getWeather = observe(async (city: string) => { /* ... */ }, { name: 'get_weather', asType: 'tool' });
\`\`\``,
    cannotKnow: ['No span names the MCP server of a tool. It is known where one provider declares the tool.'],
  },
  {
    name: 'openai-logfire',
    framework: 'OpenAI SDK with Logfire for Node.js and OpenLLMetry',
    packages: ['@pydantic/logfire-node', '@traceloop/instrumentation-openai', 'openai7'],
    program: 'logfire.ts',
    dialects: ['logfire', 'openllmetry'],
    setUp: `\`\`\`ts
// npm install @pydantic/logfire-node @traceloop/instrumentation-openai
// Logfire sends its token in the header Authorization: put a collector that adds the header x-api-key between.
import * as logfire from '@pydantic/logfire-node';
import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai';

logfire.configure({ token: '<key>', serviceName: '<service>', advanced: { baseUrl: '<URL of the collector>' } });
new OpenAIInstrumentation().manuallyInstrument(OpenAI);
\`\`\``,
    cannotKnow: [
      NO_VENDOR_TOOLS,
      NO_EMBEDDINGS,
      'The span of a refused call never ends: only its beginning is sent.',
      'The span of a streamed chat has no token counts.',
    ],
  },
  {
    name: 'openai-langtrace',
    framework: 'OpenAI SDK with Langtrace',
    packages: ['@langtrase/typescript-sdk', 'openai5'],
    program: 'langtrace.ts',
    dialects: ['langtrace'],
    setUp: `\`\`\`ts
// npm install @langtrase/typescript-sdk @opentelemetry/exporter-trace-otlp-proto@0.57 openai@5
${VARIABLES}
import * as langtrace from '@langtrase/typescript-sdk';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import * as openai from 'openai';

langtrace.init({ custom_remote_exporter: new OTLPTraceExporter(), instrumentations: { openai } });
\`\`\``,
    cannotKnow: [
      NO_TOOLS,
      'Calls of the Responses API have no spans.',
      'The tokens of a streamed chat are estimated, and the span of an embedding has none.',
    ],
  },
  {
    name: 'openai-openinference',
    framework: 'OpenAI SDK with OpenInference',
    packages: ['@arizeai/openinference-instrumentation-openai', 'openai7'],
    program: 'openinference.ts',
    dialects: ['openinference'],
    setUp: `\`\`\`ts
// npm install @arizeai/openinference-instrumentation-openai @opentelemetry/sdk-node
${VARIABLES}
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import OpenAI from 'openai';

new NodeSDK().start();
new OpenAIInstrumentation().manuallyInstrument(OpenAI);
\`\`\``,
    cannotKnow: [NO_TOOLS, NO_FAILED_CALLS, 'The spans of streamed chats and of embeddings have no token counts.'],
  },
  {
    name: 'openai-opentelemetry',
    framework: 'OpenAI SDK with OpenTelemetry',
    packages: ['@opentelemetry/instrumentation-openai', 'openai'],
    program: 'opentelemetry.ts',
    dialects: ['genai'],
    setUp: `\`\`\`ts
// npm install @opentelemetry/instrumentation @opentelemetry/instrumentation-openai @opentelemetry/sdk-node
${VARIABLES}
// telemetry.ts: run the program with node --import ./telemetry.ts. It needs openai 6, not 7.
import { register } from 'node:module';
import { OpenAIInstrumentation } from '@opentelemetry/instrumentation-openai';
import { NodeSDK } from '@opentelemetry/sdk-node';

register('@opentelemetry/instrumentation/hook.mjs', import.meta.url);
new NodeSDK({ instrumentations: [new OpenAIInstrumentation()] }).start();
\`\`\``,
    cannotKnow: [NO_TOOLS, NO_VENDOR_TOOLS],
  },
  {
    name: 'openai-two-instrumentations',
    framework: 'OpenAI SDK with OpenLLMetry and OpenInference at once',
    packages: ['@traceloop/instrumentation-openai', '@arizeai/openinference-instrumentation-openai', 'openai7'],
    program: 'two-instrumentations.ts',
    dialects: ['openllmetry', 'openinference'],
    setUp: `\`\`\`ts
// npm install @traceloop/instrumentation-openai @arizeai/openinference-instrumentation-openai @opentelemetry/sdk-node
${VARIABLES}
import { OpenAIInstrumentation as OpenInferenceInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai';

new NodeSDK().start();
new OpenAIInstrumentation().manuallyInstrument(OpenAI);
new OpenInferenceInstrumentation().manuallyInstrument(OpenAI);
\`\`\``,
    cannotKnow: [NO_TOOLS, NO_FAILED_CALLS, 'The spans of streamed chats and of embeddings have no token counts.'],
  },
  {
    name: 'openinference-mcp',
    framework: 'OpenInference with MCP',
    packages: [
      '@arizeai/openinference-instrumentation-mcp',
      '@arizeai/openinference-instrumentation-openai',
      '@modelcontextprotocol/sdk',
    ],
    program: 'openinference-mcp.ts',
    dialects: ['openinference'],
    setUp: `\`\`\`ts
// npm install @arizeai/openinference-instrumentation-mcp @opentelemetry/sdk-node
${VARIABLES}
import { MCPInstrumentation } from '@arizeai/openinference-instrumentation-mcp';
import * as clientStdioModule from '@modelcontextprotocol/sdk/client/stdio.js';
import * as clientStreamableHTTPModule from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
new MCPInstrumentation().manuallyInstrument({ clientStdioModule, clientStreamableHTTPModule });
\`\`\``,
    cannotKnow: [
      'The instrumentation makes no spans: it hands the trace on to the MCP server. Tools need spans of their own, as here.',
    ],
  },
  {
    name: 'openllmetry',
    framework: 'OpenLLMetry',
    packages: ['@traceloop/node-server-sdk', 'openai7'],
    program: 'openllmetry.ts',
    dialects: ['openllmetry'],
    setUp: `\`\`\`ts
// npm install @traceloop/node-server-sdk
import * as mcpModule from '@modelcontextprotocol/sdk/client/index.js';
import * as traceloop from '@traceloop/node-server-sdk';
import OpenAI from 'openai';

traceloop.initialize({
  appName: '<service>',
  baseUrl: "<Quartermaster's URL>",
  headers: { 'x-api-key': '<key>' },
  instrumentModules: { openAI: OpenAI, mcp: mcpModule },
});
\`\`\``,
    cannotKnow: [NO_VENDOR_TOOLS, NO_FAILED_CALLS, NO_EMBEDDINGS, 'The span of a streamed chat has no token counts.'],
  },
  {
    name: 'langgraph-langsmith',
    framework: 'LangGraph with LangSmith',
    packages: ['langsmith', '@langchain/langgraph', 'openai7'],
    program: 'langsmith.ts',
    environment: { LANGSMITH_TRACING: 'true', LANGSMITH_TRACING_MODE: 'otel' },
    dialects: ['langsmith'],
    setUp: `\`\`\`ts
// npm install langsmith @opentelemetry/sdk-trace-base@2 @opentelemetry/context-async-hooks@2 @opentelemetry/exporter-trace-otlp-proto@0.223
// LANGSMITH_TRACING=true LANGSMITH_TRACING_MODE=otel
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
import { initializeOTEL } from 'langsmith/experimental/otel/setup';

initializeOTEL();
\`\`\``,
    cannotKnow: [
      'In JavaScript only functions inside traceable() and wrapped clients have spans: runs of LangChain and LangGraph have none.',
      'A streamed call has no span.',
      NO_EMBEDDINGS,
    ],
  },
  {
    name: 'openlit',
    framework: 'OpenLIT',
    packages: ['openlit', 'openai7'],
    program: 'openlit.ts',
    dialects: ['openlit'],
    setUp: `\`\`\`ts
// npm install openlit
import * as openai from 'openai';
import { Openlit } from 'openlit';

Openlit.init({
  applicationName: '<service>',
  otlpEndpoint: "<Quartermaster's URL>",
  otlpHeaders: { 'x-api-key': '<key>' },
  instrumentations: { openai },
});
\`\`\``,
    cannotKnow: [NO_TOOLS, NO_VENDOR_TOOLS, 'The address is always api.openai.com, whatever endpoint the client uses.'],
  },
];
