/** Mastra with its OpenTelemetry bridge, which makes its spans with the application's own SDK. */
import { OtelBridge } from '@mastra/otel-bridge';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { runScenario } from './scenario.ts';

const telemetry = new NodeSDK();
telemetry.start();
await runScenario({ configs: { otel: { serviceName: 'weather-service', bridge: new OtelBridge() } } });
await telemetry.shutdown();
