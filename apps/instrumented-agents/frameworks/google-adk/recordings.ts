import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'google-adk',
    framework: 'Google ADK for JavaScript',
    packages: ['@google/adk'],
    program: 'weather.ts',
    dialects: ['google-adk'],
    setUp: `\`\`\`ts
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
import { maybeSetOtelProviders } from '@google/adk';
import { resourceFromAttributes } from '@opentelemetry/resources';

// Without a resource the spans name no service.
maybeSetOtelProviders([], resourceFromAttributes({ 'service.name': '<service>' }));
\`\`\``,
    cannotKnow: [
      'The span of a failed model call has no attributes and no error: neither model nor failure is known.',
      'The telemetry shows that a tool belongs to an MCP server, but not to which one.',
      'A tool that needs a confirmation counts each time that it is asked for, also if it is rejected: only its result says so, which the tool itself may write.',
    ],
  },
];
