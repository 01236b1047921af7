import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'iqai-adk',
    framework: 'ADK-TS',
    packages: ['@iqai/adk'],
    program: 'weather.ts',
    dialects: ['google-adk'],
    setUp: `\`\`\`ts
import { initializeTelemetry } from '@iqai/adk';

initializeTelemetry({
  appName: '<service>',
  appVersion: '<version>',
  otlpEndpoint: "<Quartermaster's URL>/v1/traces",
  otlpHeaders: { 'x-api-key': '<key>' },
});
\`\`\``,
    cannotKnow: [
      "Token counts are those of an agent's last model call, on the agent's span: the calls' own spans have none.",
      'The vendor is written as the name of the framework: a model belongs to the declared provider that has it.',
      'A tool of an MCP server has no server.',
    ],
  },
];
