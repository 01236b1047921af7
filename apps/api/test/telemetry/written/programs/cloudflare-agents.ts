import { CONTENT, type Program } from '../program.ts';

const SHARED = {
  'cloudflare.agents.integration.name': 'ai-sdk',
  'gen_ai.agent.id': 'user-7',
  'gen_ai.agent.name': 'WeatherAgent',
  'gen_ai.conversation.id': 'conversation-1',
};

const CHAT = {
  ...SHARED,
  'cloudflare.agents.operation.name': 'doStream',
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'anthropic',
  'gen_ai.request.model': 'claude-sonnet-4-5',
};

const ANSWER = {
  'gen_ai.response.model': 'claude-sonnet-4-5-20260101',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.usage.cache_read.input_tokens': 5n,
  'cloudflare.agents.usage.total_tokens': 29n,
};

function tool(name: string, operation = 'tool.execute') {
  return {
    ...SHARED,
    'cloudflare.agents.operation.name': operation,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': `call_${name}`,
  };
}

/** A request to approve a tool call, and its answer, which comes with another request. */
function approval(name: string, state: string) {
  return {
    name: `execute_tool ${name}`,
    attributes: tool(name, 'tool.approval'),
    inside: [
      {
        name: `tool_approval ${name}`,
        attributes: { ...tool(name, 'tool.approval'), 'cloudflare.agents.tool.approval.state': state },
      },
    ],
  };
}

/** The scope of the spans that Workers export is not documented. */
export const cloudflareAgents: Program = {
  id: 'cloudflare-agents',
  framework: 'Cloudflare Agents',
  version: 'agents 0.32.0',
  source: 'the npm package agents, docs/observability.md and dist/observability/ai/index.js',
  setUp: `\`\`\`ts
// Create a destination in the dashboard of Workers Observability: type "Traces", <Quartermaster's URL>/v1/traces, header x-api-key
// wrangler.jsonc: { "observability": { "traces": { "enabled": true, "destinations": ["<name>"] } } }
import * as ai from 'ai';
import { wrapAISDK } from 'agents/observability/ai';

const { generateText, streamText } = wrapAISDK(ai);
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool. It is known where one provider declares the tool.'],
  scope: '',
  spans: [
    {
      name: 'invoke_agent WeatherAgent',
      attributes: {
        ...SHARED,
        ...ANSWER,
        'cloudflare.agents.operation.name': 'streamText',
        'cloudflare.agents.metadata.note': CONTENT,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'claude-sonnet-4-5',
      },
      inside: [
        {
          name: 'chat claude-sonnet-4-5',
          attributes: { ...CHAT, ...ANSWER, 'gen_ai.input.messages': CONTENT, 'gen_ai.output.messages': CONTENT },
        },
        {
          name: 'execute_tool get_weather',
          attributes: { ...tool('get_weather'), 'gen_ai.tool.call.arguments': CONTENT, 'error.type': 'Error' },
          failed: true,
        },
        { name: 'execute_tool tool_aB3_x9Zk_echo', attributes: tool('tool_aB3_x9Zk_echo') },
        approval('send_mail', 'requested'),
        { name: 'chat claude-sonnet-4-5', attributes: { ...CHAT, 'error.type': 'APICallError' }, failed: true },
      ],
    },
    approval('send_mail', 'denied'),
  ],
  models: [{ name: 'claude-sonnet-4-5', vendor: 'anthropic', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [
    { name: 'get_weather', calls: 1, failed: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
  ],
  agents: ['WeatherAgent'],
};
