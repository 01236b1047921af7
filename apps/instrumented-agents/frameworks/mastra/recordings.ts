import type { RecordingDefinition } from '../../recorder/definition.ts';

const SET_UP = `\`\`\`ts
// npm install @mastra/observability @mastra/otel-exporter @opentelemetry/exporter-trace-otlp-proto
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';

const endpoint = process.env.OTEL_EXPORTER_OTLP_ENDPOINT; // Quartermaster's URL
const headers = { 'x-api-key': process.env.QUARTERMASTER_KEY };

export const mastra = new Mastra({
  agents,
  observability: new Observability({
    configs: {
      otel: {
        serviceName: '<service>',
        exporters: [new OtelExporter({ provider: { custom: { endpoint, headers, protocol: 'http/protobuf' } } })],
      },
    },
  }),
});
\`\`\``;

const SUSPENDED =
  'A tool that suspends itself counts each time that it runs. The span does not say that it was suspended.';

const APPROVALS = [
  'If one answer asks for several tools that need an approval, each approval after the first adds a call of the model. The tokens of an answer whose tools are rejected are lost.',
  SUSPENDED,
];

export const recordings: RecordingDefinition[] = [
  {
    name: 'mastra',
    framework: 'Mastra',
    packages: ['@mastra/core', '@mastra/otel-exporter'],
    program: 'exporter.ts',
    dialects: ['mastra'],
    cannotKnow: APPROVALS,
    setUp: SET_UP,
  },
  {
    name: 'mastra-bridge',
    framework: 'Mastra with OtelBridge',
    packages: ['@mastra/core', '@mastra/otel-bridge'],
    program: 'bridge.ts',
    dialects: ['mastra'],
    cannotKnow: APPROVALS,
    setUp: `\`\`\`ts
// npm install @mastra/observability @mastra/otel-bridge @opentelemetry/sdk-node
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { Observability } from '@mastra/observability';
import { OtelBridge } from '@mastra/otel-bridge';
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK().start();

export const mastra = new Mastra({
  agents,
  observability: new Observability({ configs: { otel: { serviceName: '<service>', bridge: new OtelBridge() } } }),
});
\`\`\``,
  },
  {
    name: 'mastra-arize',
    framework: 'Mastra with ArizeExporter',
    packages: ['@mastra/core', '@mastra/arize'],
    program: 'arize.ts',
    dialects: ['mastra'],
    cannotKnow: APPROVALS,
    setUp: `\`\`\`ts
// npm install @mastra/observability @mastra/arize
import { ArizeExporter } from '@mastra/arize';
import { Observability } from '@mastra/observability';

const endpoint = process.env.OTEL_EXPORTER_OTLP_ENDPOINT + '/v1/traces'; // Quartermaster's URL
const headers = { 'x-api-key': process.env.QUARTERMASTER_KEY };

export const mastra = new Mastra({
  agents,
  observability: new Observability({
    configs: { arize: { serviceName: '<service>', exporters: [new ArizeExporter({ endpoint, headers })] } },
  }),
});
\`\`\``,
  },
  {
    name: 'mastra-laminar',
    framework: 'Mastra with LaminarExporter',
    packages: ['@mastra/core', '@mastra/laminar'],
    program: 'laminar.ts',
    dialects: ['mastra-laminar'],
    cannotKnow: [
      'If a tool needs an approval, the number of model calls may be wrong: the run that continues is inside the span of the model that asked for the tool.',
      SUSPENDED,
    ],
    setUp: `\`\`\`ts
// npm install @mastra/observability @mastra/laminar
import { LaminarExporter } from '@mastra/laminar';
import { Observability } from '@mastra/observability';

const endpoint = process.env.OTEL_EXPORTER_OTLP_ENDPOINT + '/v1/traces'; // Quartermaster's URL
const headers = { 'x-api-key': process.env.QUARTERMASTER_KEY };

export const mastra = new Mastra({
  agents,
  observability: new Observability({
    configs: { laminar: { serviceName: '<service>', exporters: [new LaminarExporter({ apiKey: 'none', endpoint, headers })] } },
  }),
});
\`\`\``,
  },
  {
    name: 'mastra-vendors',
    framework: 'Mastra with the models of Anthropic and Google',
    packages: ['@mastra/core', '@mastra/otel-exporter', '@ai-sdk/anthropic', '@ai-sdk/google'],
    program: 'vendors.ts',
    dialects: ['mastra'],
    setUp: SET_UP,
    cannotKnow: ['A search that Google runs during a streamed answer leaves only its sources.'],
  },
];
