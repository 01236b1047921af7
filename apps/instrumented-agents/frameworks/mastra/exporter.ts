/** Mastra with its OpenTelemetry exporter. */
import { OtelExporter } from '@mastra/otel-exporter';
import { telemetryUrl } from '../../recorder/program.ts';
import { runScenario } from './scenario.ts';

const custom = { endpoint: telemetryUrl, headers: { 'x-api-key': 'recorded' }, protocol: 'http/protobuf' as const };
const exporter = new OtelExporter({ provider: { custom } });
await runScenario({ configs: { otel: { serviceName: 'weather-service', exporters: [exporter] } } });
