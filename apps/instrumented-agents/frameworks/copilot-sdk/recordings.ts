import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'copilot-sdk',
    framework: 'GitHub Copilot SDK',
    packages: ['@github/copilot-sdk'],
    program: 'program.ts',
    mcpOverHttp: true,
    dialects: ['copilot'],
    setUp: `\`\`\`ts
// With OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
import { CopilotClient } from '@github/copilot-sdk';

const client = new CopilotClient({ telemetry: { otlpEndpoint: 'https://quartermaster.example.com' } });
\`\`\``,
    cannotKnow: [
      'The runtime handles each of its events twice, which doubles the tokens of an answer. If a turn ends because the user rejects a tool, one of its spans looks like a failed call.',
      'Every agent that a user has defined is called custom-agent.',
      'Names of MCP servers and of their tools are SHA-256 hashes, as in GitHub Copilot CLI.',
    ],
  },
];
