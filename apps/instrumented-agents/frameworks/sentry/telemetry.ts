/** Loaded before the program, because packages are instrumented when they are loaded. Nothing listens where Sentry would. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import * as Sentry from '@sentry/node';

Sentry.init({
  dsn: 'http://public@127.0.0.1:9/1',
  tracesSampleRate: 1,
  sendDefaultPii: true,
  openTelemetrySpanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
