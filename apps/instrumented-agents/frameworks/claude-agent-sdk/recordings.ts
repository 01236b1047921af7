import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'claude-agent-sdk-openinference',
    framework: 'Claude Agent SDK with OpenInference',
    packages: ['@anthropic-ai/claude-agent-sdk', '@arizeai/openinference-instrumentation-claude-agent-sdk'],
    program: 'openinference.ts',
    dialects: ['openinference'],
    setUp: `\`\`\`ts
// npm install @arizeai/openinference-instrumentation-claude-agent-sdk @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { ClaudeAgentSDKInstrumentation } from '@arizeai/openinference-instrumentation-claude-agent-sdk';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
const { query } = new ClaudeAgentSDKInstrumentation().manuallyInstrument(sdk);
\`\`\``,
    cannotKnow: [
      'Calls of models have no spans. The span of a query names the model and has the tokens of the last answer, so a query counts as one call.',
      'A web search that the vendor runs has no span.',
      'A tool that a person or a hook rejects counts as a failed call: its span looks like that of a tool that never returned.',
    ],
  },
  {
    name: 'claude-agent-sdk-openlit',
    framework: 'Claude Agent SDK with OpenLIT',
    packages: ['@anthropic-ai/claude-agent-sdk', 'openlit'],
    program: 'openlit.ts',
    dialects: ['openlit-claude-agent-sdk'],
    setUp: `\`\`\`ts
// npm install openlit
import * as sdk from '@anthropic-ai/claude-agent-sdk';
import { Openlit } from 'openlit';

const patched = { ...sdk };
Openlit.init({
  applicationName: '<service>',
  otlpEndpoint: "<Quartermaster's URL>",
  otlpHeaders: { 'x-api-key': '<key>' },
  instrumentations: { 'claude-agent-sdk': patched },
});
const { query } = patched;
\`\`\``,
    cannotKnow: [
      'A subagent is named by its random id, or by the description of its task, which is content. Such agents are not observed.',
      'The calls of a subagent, and those that fail, have no spans. The output tokens of a call are those of its first piece.',
      'A web search that the vendor runs has no span.',
    ],
  },
];
