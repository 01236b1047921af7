import { OTLPHttpProtoTraceExporter } from '@vercel/otel';
import { otelIntegration } from 'eve/instrumentation/otel';

export default otelIntegration({
  traceExporter: new OTLPHttpProtoTraceExporter({
    url: `${process.env['OTEL_EXPORTER_OTLP_ENDPOINT']}/v1/traces`,
    headers: { 'x-api-key': 'recorded' },
  }),
  // Otherwise hundreds of spans of the workflow engine would fill the recording.
  exportPolicy: { span: ({ name }) => ({ emit: !/^(?:queue|step|workflow|world)\./.test(name) }) },
});
