import type { RecordingDefinition } from '../../recorder/definition.ts';

const NAMES =
  "A user's own model is named by its display name, `custom:<display name>-<number>`: it is recognised if that is the model's id.";
const NO_TOKENS = 'No span has tokens: they are in metrics only.';

const setUp = (format: string) => `\`\`\`sh
export OTEL_CUSTOMER_ENABLED=true OTEL_TELEMETRY_FORMAT=${format}
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
droid
\`\`\``;

export const recordings: RecordingDefinition[] = [
  {
    name: 'droid',
    framework: 'Factory Droid',
    packages: ['@factory/cli-linux-x64'],
    program: 'droid.ts',
    dialects: ['droid'],
    setUp: setUp('genai'),
    cannotKnow: [
      NAMES,
      NO_TOKENS,
      'A subagent has the name droid. Its own name is in the arguments of the tool Task, if these are sent.',
    ],
  },
  {
    name: 'droid-legacy',
    framework: 'Factory Droid, legacy format',
    packages: ['@factory/cli-linux-x64'],
    program: 'droid.ts',
    args: ['legacy'],
    dialects: ['droid'],
    setUp: setUp('legacy'),
    cannotKnow: [
      NAMES,
      NO_TOKENS,
      'Only messages name the model: a call that asks for tools alone has none.',
      'A failed call of a model has no span. The span of a result does not name the tool that failed.',
    ],
  },
];
