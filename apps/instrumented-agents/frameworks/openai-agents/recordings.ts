import type { RecordingDefinition } from '../../recorder/definition.ts';

const OF_RESPONSES = [
  'The span of a response names the model as the vendor answered it (gpt-5-mini-2026-01-01), not as it was requested.',
  'The span of a failed response names no model: such a call is not counted.',
];

const GUARDRAIL = 'A tool that a guardrail of the SDK stops has the span of a tool that ran, so it counts.';

const CANNOT_KNOW = [
  'No span names the MCP server of a tool. It is known where one provider declares the tool.',
  ...OF_RESPONSES,
  GUARDRAIL,
  "With `state.reject(item, { message })` the status has the application's own message instead of the SDK's, so a rejected tool counts.",
];

export const recordings: RecordingDefinition[] = [
  {
    name: 'openai-agents',
    framework: 'OpenAI Agents SDK (JavaScript) with OpenInference',
    packages: ['@openai/agents', '@arizeai/openinference-instrumentation-openai-agents'],
    program: 'program.ts',
    dialects: ['openai-agents'],
    cannotKnow: CANNOT_KNOW,
    setUp: `\`\`\`ts
// npm install @openai/agents @arizeai/openinference-instrumentation-openai-agents @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents';
import * as agents from '@openai/agents';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
new OpenAIAgentsInstrumentation().manuallyInstrument(agents);
\`\`\``,
  },
  {
    name: 'openai-agents-openlit',
    framework: 'OpenAI Agents SDK (JavaScript) with OpenLIT',
    packages: ['@openai/agents', 'openlit', 'openai'],
    program: 'openlit.ts',
    dialects: ['openlit'],
    cannotKnow: [
      'No span names the MCP server of a tool. It is known where one provider declares the tool.',
      'The address is always api.openai.com, whatever endpoint the client uses.',
      'A web search that the vendor runs has no span, and is in no attribute.',
    ],
    setUp: `\`\`\`ts
// npm install openlit
import * as agents from '@openai/agents';
import * as openai from 'openai';
import { Openlit } from 'openlit';

Openlit.init({
  applicationName: '<service>',
  otlpEndpoint: "<Quartermaster's URL>",
  otlpHeaders: { 'x-api-key': '<key>' },
  instrumentations: { 'openai-agents': { ...agents }, openai },
});
agents.setDefaultOpenAIClient(new openai.OpenAI());
\`\`\``,
  },
  {
    name: 'openai-agents-microsoft',
    framework: "OpenAI Agents SDK (JavaScript) with Microsoft's OpenTelemetry distribution",
    packages: ['@openai/agents', '@microsoft/opentelemetry'],
    program: 'microsoft.ts',
    environment: { NODE_OPTIONS: '--import ./microsoft-telemetry.ts' },
    dialects: ['microsoft-opentelemetry'],
    cannotKnow: CANNOT_KNOW,
    setUp: `\`\`\`ts
// npm install @microsoft/opentelemetry
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
// telemetry.ts: run the program with node --import ./telemetry.ts
import '@microsoft/opentelemetry/loader';
import { useMicrosoftOpenTelemetry } from '@microsoft/opentelemetry';

// Otherwise only some spans are sent once there are more than five traces a second.
useMicrosoftOpenTelemetry({ tracesPerSecond: 0, samplingRatio: 1 });
\`\`\``,
  },
  {
    name: 'openai-agents-promptlayer',
    framework: 'OpenAI Agents SDK (JavaScript) with PromptLayer',
    packages: ['@openai/agents', 'promptlayer'],
    program: 'promptlayer.ts',
    dialects: ['promptlayer'],
    cannotKnow: [...OF_RESPONSES, GUARDRAIL, 'A run that continues after an approval sends nothing.'],
    setUp: `\`\`\`ts
// npm install @openai/agents promptlayer
// Its requests have the key of PromptLayer only: put a collector that adds the header x-api-key between.
import { instrumentOpenAIAgents } from 'promptlayer/openai-agents';

await instrumentOpenAIAgents({ apiKey: '<key>', baseURL: "<URL of the collector>" });
\`\`\``,
  },
];
