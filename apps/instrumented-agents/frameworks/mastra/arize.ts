/** Mastra with its exporter for Arize, which writes OpenInference. */
import { ArizeExporter } from '@mastra/arize';
import { telemetryUrl } from '../../recorder/program.ts';
import { runScenario } from './scenario.ts';

const exporter = new ArizeExporter({ endpoint: `${telemetryUrl}/v1/traces`, headers: { 'x-api-key': 'recorded' } });
await runScenario({ configs: { otel: { serviceName: 'weather-service', exporters: [exporter] } } });
