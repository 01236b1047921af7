import { CONTENT, type Program } from '../program.ts';

const USAGE = { 'gen_ai.usage.input_tokens': 21n, 'gen_ai.usage.output_tokens': 8n };

/** A traced function repeats the answer that it returns. A continued answer has a span around the new call. */
export const mirascope: Program = {
  id: 'mirascope',
  framework: 'Mirascope',
  version: 'August 2026',
  source:
    'github.com/Mirascope/mirascope, python/mirascope/ops/_internal/{spans,traced_functions}.py and instrumentation/llm/{common,response,serialize}.py',
  setUp: `\`\`\`python
# pip install 'mirascope[all]>=2' opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from mirascope import ops
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
ops.configure(tracer_provider=provider)
ops.instrument_llm()
\`\`\``,
  cannotKnow: [
    'Tools and agents are functions of the application. Nothing distinguishes their spans from those of others.',
  ],
  scope: 'mirascope.ops',
  spans: [
    {
      name: 'recommend_book',
      attributes: {
        'mirascope.type': 'trace',
        'mirascope.fn.qualname': 'recommend_book',
        'mirascope.fn.module': 'app',
        'mirascope.fn.is_async': false,
        'mirascope.trace.arg_values': CONTENT,
        'mirascope.trace.output': CONTENT,
        'mirascope.ops.session.id': 's',
        'mirascope.response.provider_id': 'openai',
        'mirascope.response.model_id': 'openai/gpt-5-mini:responses',
        'mirascope.response.messages': CONTENT,
        'mirascope.response.content': CONTENT,
        'mirascope.response.usage': '{"input_tokens":21,"output_tokens":8}',
      },
      inside: [
        {
          scope: 'mirascope.llm',
          name: 'chat openai/gpt-5-mini:responses',
          kind: 'client',
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': 'openai',
            'gen_ai.request.model': 'openai/gpt-5-mini:responses',
            'gen_ai.response.model': 'openai/gpt-5-mini:responses',
            'gen_ai.response.id': 'resp_1',
            'gen_ai.input.messages': CONTENT,
            'gen_ai.output.messages': CONTENT,
            ...USAGE,
            'mirascope.response.messages': CONTENT,
          },
        },
        {
          name: 'get_weather',
          attributes: {
            'mirascope.type': 'trace',
            'mirascope.fn.qualname': 'get_weather',
            'mirascope.fn.module': 'app',
            'mirascope.trace.arg_values': CONTENT,
            'mirascope.trace.output': CONTENT,
          },
        },
      ],
    },
    {
      scope: 'mirascope.llm',
      name: 'Response.resume openai/gpt-5-mini',
      attributes: {
        'mirascope.type': 'response_resume',
        'mirascope.response.model_id': 'openai/gpt-5-mini',
        'mirascope.response.provider_id': 'openai',
      },
      inside: [
        {
          scope: 'mirascope.llm',
          name: 'chat anthropic-beta/claude-sonnet-5',
          kind: 'client',
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': 'anthropic-beta',
            'gen_ai.request.model': 'anthropic-beta/claude-sonnet-5',
            'gen_ai.response.model': 'anthropic-beta/claude-sonnet-5',
            ...USAGE,
          },
        },
        {
          scope: 'mirascope.llm',
          name: 'chat together/meta-llama/Llama-4',
          kind: 'client',
          attributes: {
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': 'together',
            'gen_ai.request.model': 'together/meta-llama/Llama-4',
            ...USAGE,
          },
        },
        {
          // A traced function whose model calls are not instrumented
          name: 'summarize',
          attributes: {
            'mirascope.type': 'trace',
            'mirascope.trace.output': CONTENT,
            'mirascope.response.provider_id': 'openai:completions',
            'mirascope.response.model_id': 'openai/gpt-5-nano',
            'mirascope.response.usage': '{"input_tokens":21,"output_tokens":8}',
          },
        },
      ],
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 },
    { name: 'gpt-5-nano', vendor: 'openai', calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 },
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 },
    { name: 'meta-llama/Llama-4', vendor: 'together_ai', calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 },
  ],
};
