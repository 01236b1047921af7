/** LangGraph under Langfuse's callback handler, exported by Langfuse's span processor to another receiver. */
import { CallbackHandler } from '@langfuse/langchain';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { runAgent } from './agent.ts';

const telemetry = new NodeSDK({ spanProcessors: [new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() })] });
telemetry.start();
await runAgent([new CallbackHandler()]);
await telemetry.shutdown();
