import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'eve',
    framework: 'eve',
    packages: ['eve', 'ai'],
    program: 'eve.ts',
    mcpOverHttp: true,
    dialects: ['eve'],
    setUp: `\`\`\`ts
// npm install @vercel/otel
// OTEL_SERVICE_NAME=<service>
// agent/instrumentation/quartermaster.ts
import { OTLPHttpProtoTraceExporter } from '@vercel/otel';
import { otelIntegration } from 'eve/instrumentation/otel';

export default otelIntegration({
  traceExporter: new OTLPHttpProtoTraceExporter({
    url: "<Quartermaster's URL>/v1/traces",
    headers: { 'x-api-key': '<key>' },
  }),
});
\`\`\``,
  },
];
