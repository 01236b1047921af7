import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'cline-sdk',
    framework: 'Cline SDK',
    packages: ['@cline/core'],
    program: 'program.ts',
    dialects: ['cline'],
    setUp: `\`\`\`ts
// npm install @cline/core
import { ClineCore, createConfiguredTelemetryHandle } from '@cline/core';

const { telemetry } = createConfiguredTelemetryHandle({
  enabled: true,
  serviceName: '<service>',
  logsExporter: 'otlp',
  otlpProtocol: 'http/json',
  otlpEndpoint: "<Quartermaster's URL>",
  otlpHeaders: { 'x-api-key': '<key>' },
  metadata,
});
const cline = await ClineCore.create({ telemetry });
\`\`\``,
    cannotKnow: [
      'There are no agents: an agent has an id and no name.',
      'The command line sends its telemetry to its vendor. Only the settings of an organisation change that.',
      'A tool that a person rejects counts as a failed call: the event only says that it failed.',
    ],
  },
];
