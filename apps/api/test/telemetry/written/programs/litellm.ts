import { CONTENT, type Program } from '../program.ts';

const SOURCE = 'github.com/BerriAI/litellm';

const setUp = (variables: string) => `\`\`\`sh
# pip install 'litellm[proxy]' opentelemetry-sdk opentelemetry-exporter-otlp
# In config.yaml: litellm_settings: { callbacks: ["otel"] }
${variables}OTEL_EXPORTER=otlp_http OTEL_ENDPOINT=<Quartermaster's URL>/v1/traces OTEL_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service> \\
  litellm --config config.yaml
\`\`\``;

const TOKENS = {
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.usage.total_tokens': 29n,
};

const METADATA = {
  'metadata.user_api_key_hash': 'a1',
  'metadata.user_api_key_alias': 'weather',
  'metadata.requester_metadata': CONTENT,
  'metadata.mcp_tool_call_metadata': CONTENT,
  hidden_params: CONTENT,
};

const request = (type: string, model: string, system: string) => ({
  ...METADATA,
  'gen_ai.request.model': model,
  'llm.request.type': type,
  'gen_ai.system': system,
  'llm.is_streaming': 'False',
  'gen_ai.response.id': `${type}-1`,
  'gen_ai.operation.name': type === 'completion' ? 'chat' : type,
  'gen_ai.input.messages': CONTENT,
  'gen_ai.output.messages': CONTENT,
});

const CHAT = {
  ...request('acompletion', 'gpt-5-mini', 'openai'),
  ...TOKENS,
  'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
};

const service = (name: string, callType: string) => ({ name, attributes: { call_type: callType, service: name } });

/** The span of the proxy's request repeats the attributes of the call inside. */
export const litellm: Program = {
  id: 'litellm',
  framework: 'LiteLLM proxy',
  version: 'commit 00145a6',
  source: `${SOURCE}, litellm/integrations/opentelemetry.py`,
  setUp: setUp(''),
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'litellm',
  spans: [
    {
      name: 'Received Proxy Server Request',
      kind: 'server',
      attributes: CHAT,
      inside: [
        service('auth', '_get_team_object'),
        service('router', 'async_get_available_deployment'),
        {
          name: 'self',
          attributes: { call_type: 'make_openai_chat_completion_request', service: 'self', event_metadata: CONTENT },
        },
        {
          name: 'litellm_request',
          attributes: CHAT,
          inside: [
            {
              name: 'raw_gen_ai_request',
              attributes: { 'llm.openai.model': 'gpt-5-mini', 'llm.openai.messages': CONTENT, 'llm.openai.id': 'c1' },
            },
          ],
        },
        service('batch_write_to_db', 'update_database'),
      ],
    },
    {
      name: 'Received Proxy Server Request',
      kind: 'server',
      inside: [
        { name: 'litellm_request', attributes: request('acompletion', 'gpt-5-mini', 'openai'), failed: true },
        { name: 'Failed Proxy Server Request', attributes: { exception: CONTENT }, failed: true },
      ],
    },
    {
      name: 'Received Proxy Server Request',
      kind: 'server',
      inside: [
        {
          name: 'litellm_request',
          attributes: {
            ...request('aembedding', 'text-embedding-3-small', 'openai'),
            'gen_ai.usage.input_tokens': 4n,
            'gen_ai.usage.output_tokens': 0n,
          },
        },
      ],
    },
    {
      name: 'Received Proxy Server Request',
      kind: 'server',
      inside: [{ name: 'litellm_request', attributes: request('call_mcp_tool', 'MCP: get_weather', 'Unknown') }],
    },
    {
      name: 'Received Proxy Server Request',
      kind: 'server',
      inside: [{ name: 'litellm_request', attributes: request('asend_message', 'a2a_agent/expert', 'a2a_agent') }],
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, inputTokens: 4, outputTokens: 0 },
  ],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['expert'],
};

const IDENTITY = { 'litellm.team.alias': 'weather', 'litellm.api_key.hash': 'a1', 'litellm.call_id': 'call-1' };

const chat = (attributes: NonNullable<NonNullable<Program['spans']>[number]['attributes']>, failed = false) => ({
  name: 'chat fast-model',
  kind: 'client' as const,
  attributes: {
    ...IDENTITY,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'fast-model',
    'gen_ai.input.messages': CONTENT,
    'gen_ai.tool.0.name': 'get_weather',
    'gen_ai.tool.0.description': CONTENT,
    'litellm.call_type': 'acompletion',
    'litellm.provider.model': 'openai/gpt-5-mini',
    'litellm.request.route': '/v1/chat/completions',
    'server.address': 'api.openai.com',
    ...attributes,
  },
  failed,
});

/** The requested model is the proxy's name of it. An MCP call names the server by the proxy's name of it. */
export const litellmV2: Program = {
  id: 'litellm-v2',
  framework: 'LiteLLM proxy with `LITELLM_OTEL_V2`',
  version: 'commit 00e7401',
  source: `${SOURCE}, litellm/integrations/otel`,
  setUp: setUp('LITELLM_OTEL_V2=true '),
  scope: 'litellm',
  spans: [
    {
      scope: 'opentelemetry.instrumentation.fastapi',
      name: 'POST /v1/chat/completions',
      kind: 'server',
      attributes: { 'http.request.method': 'POST', 'http.route': '/v1/chat/completions' },
      inside: [
        {
          name: 'auth /v1/chat/completions',
          inside: [{ name: 'postgres select', kind: 'client', attributes: { 'db.system.name': 'postgresql' } }],
        },
        {
          name: 'execute_guardrail pii',
          attributes: {
            ...IDENTITY,
            'litellm.guardrail.name': 'pii',
            'litellm.guardrail.provider': 'presidio',
            'litellm.guardrail.response': CONTENT,
          },
        },
        chat({ 'error.type': 'RateLimitError' }, true),
        chat({
          'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
          'gen_ai.response.id': 'chatcmpl-1',
          'gen_ai.usage.input_tokens': 21n,
          'gen_ai.usage.output_tokens': 8n,
          'gen_ai.output.messages': CONTENT,
          'litellm.cost.total': 0.001,
        }),
      ],
    },
    {
      scope: 'opentelemetry.instrumentation.fastapi',
      name: 'POST /mcp',
      kind: 'server',
      inside: [
        { name: 'tools/list', kind: 'client', attributes: { ...IDENTITY, 'mcp.method.name': 'tools/list' } },
        {
          name: 'tools/call echo',
          kind: 'client',
          attributes: {
            ...IDENTITY,
            'gen_ai.operation.name': 'execute_tool',
            'rpc.system': 'jsonrpc',
            'mcp.method.name': 'tools/call',
            'mcp.session.id': 'session-1',
            'gen_ai.tool.name': 'echo',
            'gen_ai.tool.call.arguments': CONTENT,
            'gen_ai.tool.call.result': CONTENT,
            'server.address': 'mcp.example.com',
            'server.port': 443n,
            'litellm.mcp.server.name': 'everything',
          },
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [{ name: 'echo', server: 'everything', calls: 1 }],
};
