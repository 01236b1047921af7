import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'kilo',
    framework: 'Kilo Code',
    packages: ['@kilocode/cli-linux-x64'],
    program: 'kilo.ts',
    dialects: ['opencode'],
    setUp: `\`\`\`sh
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
kilo
\`\`\``,
    cannotKnow: [
      'The spans of the AI SDK are switched off. A log record names the model before each call: it has no tokens, and a call that fails has no error.',
      'kilo run ends without sending the spans of the last seconds. kilo serve and the terminal interface send them.',
    ],
  },
];
