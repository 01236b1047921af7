import { CONTENT, type Program } from '../program.ts';

const CHAT = {
  'gen_ai.provider.name': 'openai',
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'gpt-5-mini',
  'gen_ai.output.type': 'text',
  'gen_ai.request.stream': true,
  'server.address': 'api.openai.com',
  'server.port': 443n,
  'openai.api.type': 'responses',
};

const ANSWER = {
  'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.usage.cache_read.input_tokens': 5n,
  'gen_ai.usage.reasoning.output_tokens': 3n,
  'gen_ai.usage.cost': 0.0012,
};

const search = (id: string) => ({
  name: 'execute_tool web_search_call',
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'web_search_call',
    'gen_ai.tool.type': 'builtin',
    'gen_ai.tool.call.id': id,
    'gen_ai.tool.call.arguments': CONTENT,
  },
});

/** Tools that the vendor ran have spans. With content, the answer lists them as well. */
export const reqLlm: Program = {
  id: 'req-llm',
  framework: 'ReqLLM (Elixir)',
  version: 'August 2026',
  source: 'github.com/agentjido/req_llm, lib/req_llm/telemetry/open_telemetry.ex and lib/req_llm/open_telemetry',
  setUp: `\`\`\`elixir
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
# Dependencies: {:req_llm, "~> 1.0"}, {:opentelemetry, "~> 1.5"}, {:opentelemetry_exporter, "~> 1.8"}
ReqLLM.OpenTelemetry.attach()
\`\`\``,
  cannotKnow: ['Tools of the application and agents have no spans.'],
  scope: 'req_llm',
  spans: [
    {
      name: 'chat gpt-5-mini',
      kind: 'client',
      attributes: {
        ...CHAT,
        ...ANSWER,
        'req_llm.request_id': '2184',
        'gen_ai.response.id': 'resp_1',
        'gen_ai.output.messages': JSON.stringify([
          {
            role: 'assistant',
            parts: [
              { type: 'text', content: CONTENT },
              { type: 'tool_call', id: 'ws_1', name: 'web_search_call', arguments: { query: CONTENT } },
              { type: 'tool_call', id: 'ws_2', name: 'web_search_call', arguments: { query: CONTENT } },
            ],
          },
        ]),
      },
      inside: [
        search('ws_1'),
        { ...search('ws_2'), attributes: { ...search('ws_2').attributes, 'error.type': 'failed' }, failed: true },
      ],
    },
    {
      name: 'chat gpt-5-mini',
      kind: 'client',
      attributes: { ...CHAT, 'req_llm.request_id': '2185', 'error.type': 'ReqLLM.Error.API.Request' },
      events: [{ name: 'exception', attributes: { 'exception.message': CONTENT } }],
      failed: true,
    },
    {
      name: 'embeddings text-embedding-3-small',
      kind: 'client',
      attributes: {
        'gen_ai.provider.name': 'openai',
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.request.model': 'text-embedding-3-small',
        'req_llm.request_id': '2186',
        'gen_ai.usage.input_tokens': 4n,
        'gen_ai.usage.output_tokens': 0n,
      },
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, inputTokens: 4, outputTokens: 0 },
  ],
  tools: [{ name: 'web_search', runsAt: 'vendor', calls: 2, failed: 1 }],
};
