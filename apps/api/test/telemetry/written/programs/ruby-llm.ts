import { CONTENT, type Program } from '../program.ts';

const MODEL = { 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5-mini' };

const CHAT = {
  ...MODEL,
  'gen_ai.operation.name': 'chat',
  'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
};

const tool = (name: string, id: string) => ({
  name: `execute_tool ${name}`,
  attributes: {
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': id,
    'gen_ai.tool.call.arguments': CONTENT,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.result': CONTENT,
  },
});

/** After tools have run, the model is called inside the span of the call before. Each span has the tokens of the last answer. */
export const rubyLlm: Program = {
  id: 'ruby-llm',
  framework: 'RubyLLM',
  version: 'April 2026',
  source:
    'github.com/thoughtbot/opentelemetry-instrumentation-ruby_llm, lib/opentelemetry/instrumentation/ruby_llm/patches',
  setUp: `\`\`\`ruby
# gem install ruby_llm opentelemetry-sdk opentelemetry-exporter-otlp opentelemetry-instrumentation-ruby_llm
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
OpenTelemetry::SDK.configure { |config| config.use 'OpenTelemetry::Instrumentation::RubyLLM' }
\`\`\``,
  cannotKnow: [
    'There are no agents.',
    'No span names the MCP server of a tool.',
    'If the model is called again after a tool, the first call has the tokens of the last one. It fails if the last one does.',
  ],
  scope: 'OpenTelemetry::Instrumentation::RubyLLM',
  spans: [
    {
      name: 'chat gpt-5-mini',
      kind: 'client',
      attributes: CHAT,
      inside: [
        tool('get_weather', 'call_1'),
        {
          name: 'chat gpt-5-mini',
          kind: 'client',
          attributes: CHAT,
          inside: [
            { ...tool('echo', 'call_2'), failed: true },
            { name: 'chat gpt-5-mini', kind: 'client', attributes: CHAT },
          ],
        },
      ],
    },
    {
      name: 'chat gpt-5-mini',
      kind: 'client',
      attributes: { ...MODEL, 'gen_ai.operation.name': 'chat', 'error.type': 'RubyLLM::RateLimitError' },
      events: [{ name: 'exception', attributes: { 'exception.message': CONTENT } }],
      failed: true,
    },
    {
      name: 'embeddings text-embedding-3-small',
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'text-embedding-3-small',
        'gen_ai.response.model': 'text-embedding-3-small',
        'gen_ai.usage.input_tokens': 4n,
        'gen_ai.embeddings.dimension.count': 1536n,
      },
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 4, failed: 1, inputTokens: 63, outputTokens: 24 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, inputTokens: 4, outputTokens: 0 },
  ],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
};
