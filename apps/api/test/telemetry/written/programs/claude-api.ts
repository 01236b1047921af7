import { CONTENT, type Program } from '../program.ts';

const REQUEST = {
  'gen_ai.provider.name': 'anthropic',
  'anthropic.organization.id': '0199c0de-0000-7000-8000-000000000001',
  'anthropic.workspace.id': 'wrkspc_1',
  'http.request.method': 'POST',
};

function messages(request: string) {
  return {
    ...REQUEST,
    'anthropic.request.id': request,
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.request.max_tokens': 1024n,
    'gen_ai.input.messages': CONTENT,
  };
}

const ANSWER = {
  'gen_ai.response.id': 'msg_1',
  'gen_ai.response.model': 'claude-sonnet-5',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.cache_read.input_tokens': 5n,
  'gen_ai.usage.output_tokens': 8n,
  'anthropic.message.stop_reason': 'end_turn',
};

/** The span of a request is inside that of Anthropic's SDK, if the application sends both. */
export const claudeApi: Program = {
  id: 'claude-api',
  framework: "Anthropic's API",
  version: 'October 2026',
  source:
    'platform.claude.com/docs/en/api/opentelemetry/spans, and the npm package @anthropic-ai/sdk 1.14.0, src/internal/tracing.ts',
  setUp: `In Anthropic's Console, under OpenTelemetry, add a destination of the type "Custom": endpoint
\`<Quartermaster's URL>/v1/traces\`, header \`x-api-key: <key>\`. It needs HTTPS on port 443. If the application also sends the spans of
Anthropic's SDK, use the key of the same account: the two spans of a call are then one call.`,
  cannotKnow: ['Tools of the application have no spans of the API.'],
  scope: 'com.anthropic.claude-platform',
  service: 'claude-platform',
  spans: [
    {
      name: 'anthropic.messages.create',
      kind: 'server',
      attributes: { ...messages('req_1'), ...ANSWER },
      inside: [
        {
          name: 'anthropic.tool_use web_search',
          attributes: {
            ...REQUEST,
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': 'web_search',
            'gen_ai.tool.call.id': 'srvtoolu_1',
          },
        },
        {
          name: 'anthropic.tool_use bash',
          attributes: {
            ...REQUEST,
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': 'bash',
            'gen_ai.tool.call.id': 'sevt_1',
          },
        },
      ],
    },
    {
      name: 'anthropic.messages.create',
      kind: 'server',
      attributes: { ...messages('req_2'), 'error.type': 'overloaded_error' },
      failed: true,
    },
    {
      name: 'anthropic.messages.count_tokens',
      kind: 'server',
      attributes: {
        ...REQUEST,
        'anthropic.request.id': 'req_3',
        'gen_ai.request.model': 'claude-sonnet-5',
        'anthropic.message.count_tokens.input_tokens': 21n,
      },
    },
    {
      scope: 'com.anthropic.sdk.typescript',
      name: 'anthropic.messages.create',
      kind: 'client',
      attributes: { ...messages('req_4'), ...ANSWER, 'gen_ai.response.id': 'msg_2' },
      inside: [
        {
          name: 'anthropic.messages.create',
          kind: 'server',
          attributes: { ...messages('req_4'), ...ANSWER, 'gen_ai.response.id': 'msg_2' },
        },
      ],
    },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 3, failed: 1, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'web_search', runsAt: 'vendor', calls: 1 },
    { name: 'bash', runsAt: 'vendor', calls: 1 },
  ],
};
