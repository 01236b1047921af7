import type { RecordingDefinition } from '../../recorder/definition.ts';

const VARIABLES = `// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>`;

const NO_EMBEDDINGS = 'Embeddings have no spans: LangChain tells its callbacks nothing of them.';
const NO_MCP_SERVER = 'A tool has no server: LangChain has the tools of all MCP servers under their own names.';

const WITH_OPENINFERENCE = `\`\`\`ts
// npm install @arizeai/openinference-instrumentation-langchain @opentelemetry/sdk-node
${VARIABLES}
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
new LangChainInstrumentation().manuallyInstrument(callbackManager);
\`\`\``;

const WITH_LANGFUSE = `\`\`\`ts
// npm install @langfuse/langchain @langfuse/otel @opentelemetry/sdk-node @opentelemetry/exporter-trace-otlp-proto
${VARIABLES}
import { CallbackHandler } from '@langfuse/langchain';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';

const toQuartermaster = new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() });
new NodeSDK({ spanProcessors: [toQuartermaster] }).start();
// Add new LangfuseSpanProcessor() to the list to send to Langfuse as well.
await agent.invoke(input, { callbacks: [new CallbackHandler()] });
\`\`\``;

export const recordings: RecordingDefinition[] = [
  {
    name: 'langchain-openlit',
    framework: 'LangChain with OpenLIT',
    packages: ['openlit', 'langchain'],
    program: 'openlit.ts',
    dialects: ['openlit-langchain'],
    setUp: `\`\`\`ts
// npm install openlit
import * as callbackManager from '@langchain/core/callbacks/manager';
import { Openlit } from 'openlit';

Openlit.init({
  applicationName: '<service>',
  otlpEndpoint: "<Quartermaster's URL>",
  otlpHeaders: { 'x-api-key': '<key>' },
  instrumentations: { langchain: callbackManager },
});
\`\`\``,
    cannotKnow: [
      NO_EMBEDDINGS,
      'The span of a tool has the name of its class (DynamicStructuredTool). The tools count when the model asks for them.',
      NO_MCP_SERVER,
      'The input tokens are estimated.',
    ],
  },
  {
    name: 'langchain-langwatch',
    framework: 'LangChain with LangWatch',
    packages: ['langwatch', 'langchain'],
    program: 'langwatch.ts',
    dialects: ['genai'],
    setUp: `\`\`\`ts
// npm install langwatch @opentelemetry/sdk-node
${VARIABLES}
import { NodeSDK } from '@opentelemetry/sdk-node';
import { LangWatchCallbackHandler } from 'langwatch/observability/instrumentation/langchain';

new NodeSDK().start();
await agent.invoke(input, { callbacks: [new LangWatchCallbackHandler()] });
\`\`\``,
    cannotKnow: [NO_EMBEDDINGS, NO_MCP_SERVER],
  },
  {
    name: 'deepagents-openinference',
    framework: 'Deep Agents with OpenInference',
    packages: ['@arizeai/openinference-instrumentation-langchain', 'deepagents', 'langchain'],
    program: 'deepagents.ts',
    dialects: ['openinference'],
    setUp: WITH_OPENINFERENCE,
    cannotKnow: [NO_MCP_SERVER],
  },
  {
    name: 'langgraph-langfuse',
    framework: 'LangGraph with Langfuse',
    packages: ['@langfuse/langchain', '@langfuse/otel', 'langchain'],
    program: 'langfuse.ts',
    dialects: ['langfuse'],
    setUp: WITH_LANGFUSE,
    cannotKnow: [NO_EMBEDDINGS, NO_MCP_SERVER],
  },
  {
    name: 'langchain-openinference',
    framework: 'LangChain with OpenInference',
    packages: ['@arizeai/openinference-instrumentation-langchain', 'langchain'],
    program: 'openinference.ts',
    dialects: ['openinference'],
    setUp: WITH_OPENINFERENCE,
    cannotKnow: [NO_EMBEDDINGS, NO_MCP_SERVER],
  },
  {
    name: 'langchain-two-instrumentations',
    framework: 'LangChain with OpenInference, and its OpenAI client with OpenLLMetry',
    packages: ['@arizeai/openinference-instrumentation-langchain', '@traceloop/instrumentation-openai', 'langchain'],
    program: 'two-instrumentations.ts',
    dialects: ['openinference', 'openllmetry'],
    setUp: `\`\`\`ts
// npm install @arizeai/openinference-instrumentation-langchain @traceloop/instrumentation-openai @opentelemetry/sdk-node
${VARIABLES}
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai';

new NodeSDK().start();
new LangChainInstrumentation().manuallyInstrument(callbackManager);
new OpenAIInstrumentation().manuallyInstrument(OpenAI);
\`\`\``,
    cannotKnow: [
      "LangChain calls its callbacks outside of OpenTelemetry's context, so the client's spans begin traces of their own. Nothing ties them to LangChain's: a call counts twice.",
      NO_EMBEDDINGS,
      NO_MCP_SERVER,
    ],
  },
  {
    name: 'langchain-openllmetry',
    framework: 'LangChain with OpenLLMetry',
    packages: ['@traceloop/instrumentation-langchain', 'langchain'],
    program: 'openllmetry.ts',
    dialects: ['openllmetry'],
    setUp: `\`\`\`ts
// npm install @traceloop/instrumentation-langchain @opentelemetry/sdk-node
${VARIABLES}
import * as callbackManagerModule from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { LangChainInstrumentation } from '@traceloop/instrumentation-langchain';

new NodeSDK().start();
new LangChainInstrumentation().manuallyInstrument({ callbackManagerModule });
\`\`\``,
    cannotKnow: [NO_EMBEDDINGS, NO_MCP_SERVER, 'A graph is named after its class: no span names the agent.'],
  },
  {
    name: 'langchain-microsoft',
    framework: "LangChain with Microsoft's OpenTelemetry distribution",
    packages: ['@microsoft/opentelemetry', 'langchain'],
    program: 'microsoft.ts',
    environment: { NODE_OPTIONS: '--import ./microsoft-telemetry.ts' },
    dialects: ['genai'],
    setUp: `\`\`\`ts
// npm install @microsoft/opentelemetry
${VARIABLES}
// telemetry.ts: run the program with node --import ./telemetry.ts
import '@microsoft/opentelemetry/loader';
import { useMicrosoftOpenTelemetry } from '@microsoft/opentelemetry';

// Otherwise only some spans are sent once there are more than five traces a second.
useMicrosoftOpenTelemetry({ tracesPerSecond: 0, samplingRatio: 1 });
\`\`\``,
    cannotKnow: [NO_EMBEDDINGS, NO_MCP_SERVER],
  },
  {
    name: 'langchain-vendors-openinference',
    framework: "LangChain's clients of Anthropic, Google and OpenAI with OpenInference",
    packages: [
      '@arizeai/openinference-instrumentation-langchain',
      'langchain',
      '@langchain/anthropic',
      '@langchain/google-genai',
      '@langchain/langgraph-swarm',
    ],
    program: 'vendors.ts',
    dialects: ['openinference'],
    setUp: WITH_OPENINFERENCE,
  },
  {
    name: 'langchain-vendors-langfuse',
    framework: "LangChain's clients of Anthropic, Google and OpenAI with Langfuse",
    packages: [
      '@langfuse/langchain',
      'langchain',
      '@langchain/anthropic',
      '@langchain/google-genai',
      '@langchain/langgraph-swarm',
    ],
    program: 'vendors.ts',
    args: ['langfuse'],
    dialects: ['langfuse'],
    setUp: WITH_LANGFUSE,
    cannotKnow: ["Langfuse's handler leaves the searches of OpenAI and Google out of the answer."],
  },
];
