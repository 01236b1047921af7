import { CONTENT, type Program } from '../program.ts';

function event(type: string) {
  return {
    'honeyhive.project': 'weather',
    'honeyhive.session_id': 'session-1',
    honeyhive_event_type: type,
    'honeyhive_inputs.city': CONTENT,
    'honeyhive_outputs.result': CONTENT,
  };
}

/** The SDK marks every span of the process, also those of other instrumentations. */
export const honeyhive: Program = {
  id: 'honeyhive',
  framework: 'HoneyHive SDK for Python',
  version: 'July 2026',
  source:
    'github.com/honeyhiveai/python-sdk, src/honeyhive/tracer/{instrumentation/decorators,processing/span_processor}.py',
  setUp: `\`\`\`python
# pip install honeyhive opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
tracer.provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
\`\`\``,
  cannotKnow: ['There are no agents.'],
  scope: 'honeyhive.140234866534672',
  spans: [
    {
      name: 'answer',
      attributes: event('chain'),
      inside: [
        {
          name: 'ask_model',
          attributes: {
            ...event('model'),
            'honeyhive_config.model': 'gpt-5-mini',
            'honeyhive_config.provider': 'openai',
            'honeyhive_metadata.prompt_tokens': 21n,
            'honeyhive_metadata.completion_tokens': 8n,
          },
          inside: [
            {
              scope: 'opentelemetry.instrumentation.httpx',
              name: 'POST',
              kind: 'client',
              attributes: { ...event('tool'), 'http.request.method': 'POST' },
            },
          ],
        },
        { name: 'get_weather', attributes: event('tool'), failed: true },
        { scope: 'acme.cache', name: 'lookup', attributes: event('tool') },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [{ name: 'get_weather', calls: 1, failed: 1 }],
};
