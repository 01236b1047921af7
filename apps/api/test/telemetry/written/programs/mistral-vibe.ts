import { CONTENT, type Program } from '../program.ts';

const MISTRAL = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'mistral_ai',
  'gen_ai.request.model': 'mistral-medium-3.5',
  'gen_ai.response.model': 'mistral-medium-3.5',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.conversation.id': 'session-1',
  'gen_ai.input.messages': CONTENT,
  'gen_ai.output.messages': CONTENT,
  'http.request.method': 'POST',
  'http.response.status_code': 200n,
};

const chatOf = (id: string) => ({
  scope: 'mistralai_sdk_tracer',
  name: 'chat mistral-medium-3.5',
  kind: 'client' as const,
  attributes: { ...MISTRAL, 'gen_ai.response.id': id },
});

const toolOf = (id: string, name: string, result: string = CONTENT) => ({
  name: `execute_tool ${name}`,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': id,
    'gen_ai.tool.call.arguments': CONTENT,
    'gen_ai.tool.type': 'function',
    'gen_ai.conversation.id': 'session-1',
    'gen_ai.tool.call.result': result,
  },
});

/** Tools of MCP servers have the server in front. Failed and rejected calls have the status of others. */
export const mistralVibe: Program = {
  id: 'mistral-vibe',
  framework: 'Mistral Vibe',
  version: '2.18',
  source: 'github.com/mistralai/mistral-vibe, vibe/core/{tracing,agent_loop}.py',
  setUp: `\`\`\`sh
# ~/.vibe/config.toml: enable_otel = true, otel_endpoint = "<Quartermaster's URL>"
export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
\`\`\`

Model calls have spans only with Mistral's own API.`,
  scope: 'mistral_vibe',
  service: 'mistral-vibe',
  spans: [
    {
      name: 'invoke_agent mistral-vibe',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': 'mistral_ai',
        'gen_ai.agent.name': 'mistral-vibe',
        'gen_ai.request.model': 'mistral-medium-3.5',
        'gen_ai.conversation.id': 'session-1',
      },
      inside: [
        chatOf('answer-1'),
        {
          ...toolOf('call-1', 'bash'),
          inside: [
            {
              name: 'hook pre_tool check',
              attributes: {
                'vibe.hook.name': CONTENT,
                'vibe.hook.type': 'pre_tool',
                'gen_ai.tool.name': 'bash',
                'gen_ai.tool.call.id': 'call-1',
              },
            },
          ],
        },
        toolOf('call-2', 'everything_echo'),
        toolOf('call-3', 'grep', `<tool_error>${CONTENT}</tool_error>`),
        toolOf('call-4', 'write_file', `<user_cancellation>${CONTENT}</user_cancellation>`),
        toolOf('call-5', 'write_file', 'Tool execution not permitted.'),
        toolOf(
          'call-6',
          'write_file',
          `<tool_error>Tool 'write_file' was denied by hook 'check': ${CONTENT}</tool_error>`,
        ),
        chatOf('answer-2'),
      ],
    },
  ],
  models: [{ name: 'mistral-medium-3.5', vendor: 'mistral_ai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'bash', runsAt: 'agent', calls: 1 },
    { name: 'grep', runsAt: 'agent', calls: 1, failed: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
  ],
  agents: ['mistral-vibe'],
};
