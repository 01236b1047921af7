import type { RecordingDefinition } from '../../recorder/definition.ts';

export const recordings: RecordingDefinition[] = [
  {
    name: 'livekit-js',
    framework: 'LiveKit Agents for Node.js',
    packages: ['@livekit/agents', '@livekit/agents-plugin-openai'],
    program: 'weather.ts',
    dialects: ['livekit'],
    setUp: `\`\`\`ts
// npm install @opentelemetry/exporter-trace-otlp-proto @opentelemetry/resources@2 @opentelemetry/sdk-trace-node@2
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
import { telemetry } from '@livekit/agents';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResources, envDetector } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const provider = new NodeTracerProvider({
  resource: detectResources({ detectors: [envDetector] }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
telemetry.setTracerProvider(provider);
\`\`\``,
    cannotKnow: ['No span names the MCP server of a tool. It is known where one provider declares the tool.'],
  },
];
