/** Mastra with its exporter for Laminar. */
import { LaminarExporter } from '@mastra/laminar';
import { telemetryUrl } from '../../recorder/program.ts';
import { runScenario } from './scenario.ts';

const exporter = new LaminarExporter({ apiKey: 'recorded', endpoint: `${telemetryUrl}/v1/traces` });
await runScenario({ configs: { otel: { serviceName: 'weather-service', exporters: [exporter] } } });
