import type { RecordingDefinition } from '../../recorder/definition.ts';

const SET_UP = `\`\`\`ts
// npm install @opentelemetry/api @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();
const tracer = trace.getTracer('<service>');

const llm = ai({ name: 'openai', apiKey, options: { tracer } });
const program = ax('question:string -> answer:string', { functions, tracer });
\`\`\``;

export const recordings: RecordingDefinition[] = [
  {
    name: 'ax',
    framework: 'Ax',
    packages: ['@ax-llm/ax'],
    program: 'program.ts',
    dialects: ['ax'],
    setUp: SET_UP,
    cannotKnow: ['A program is no agent: its span has its signature and no name.'],
  },
  {
    name: 'ax-vendors',
    framework: 'Ax with the models of Anthropic and Google',
    packages: ['@ax-llm/ax'],
    program: 'vendors.ts',
    dialects: ['ax'],
    setUp: SET_UP,
    cannotKnow: ['A program is no agent: its span has its signature and no name.'],
  },
];
