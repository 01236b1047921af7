import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'ax',
    framework: 'Ax',
    packages: ['@ax-llm/ax'],
    program: 'program.ts',
    dialects: ['ax'],
    setUp: `\`\`\`ts
// npm install @opentelemetry/api @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
const tracer = trace.getTracer('<service>');

const llm = ai({ name: 'openai', apiKey, options: { tracer } });
const program = ax('question:string -> answer:string', { functions, tracer });
\`\`\``,
    cannotKnow: ['A program is no agent: its span has its signature and no name.'],
  },
];
