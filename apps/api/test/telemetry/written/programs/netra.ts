import { CONTENT, type Program } from '../program.ts';

function spanOf(type: string, netraType: string) {
  return { 'netra.span.type': netraType, 'gen_ai.system': 'openai', 'netra.agents.span_type': type };
}

const RESPONSE = {
  name: 'openai.agents.response',
  attributes: {
    ...spanOf('response', 'GENERATION'),
    'llm.request.type': 'response',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.response.model': 'gpt-5-mini',
    'gen_ai.prompt.0.content': CONTENT,
    'gen_ai.usage.prompt_tokens': 21n,
    'gen_ai.usage.completion_tokens': 8n,
    'llm.usage.total_tokens': 29n,
  },
};

function tool(name: string, failed = false) {
  return {
    name,
    attributes: {
      ...spanOf('function', 'TOOL'),
      'gen_ai.tool.name': name,
      'gen_ai.prompt.0.role': 'tool',
      'gen_ai.prompt.0.content': CONTENT,
      'gen_ai.completion.0.content': CONTENT,
    },
    failed,
  };
}

export const netra: Program = {
  id: 'netra',
  framework: 'OpenAI Agents SDK (JavaScript) with Netra',
  version: 'August 2026',
  source: 'github.com/KeyValueSoftwareSystems/netra-sdk-js, src/instrumentation/openai-agents',
  setUp: `\`\`\`sh
export NETRA_OTLP_ENDPOINT=<Quartermaster's URL>
export NETRA_HEADERS=x-api-key=<key>
\`\`\``,
  cannotKnow: ['The MCP server of a tool is not named. The SDK gives it as an object, which no attribute can hold.'],
  scope: 'netra.instrumentation.openai_agents',
  spans: [
    {
      name: 'Agent workflow',
      attributes: { 'netra.span.type': 'AGENT', 'gen_ai.system': 'openai', 'netra.workflow.name': 'Agent workflow' },
      inside: [
        {
          name: 'weather_agent',
          attributes: {
            ...spanOf('agent', 'AGENT'),
            'gen_ai.agent.name': 'weather_agent',
            'netra.agent.name': 'weather_agent',
            'netra.agent.tools': 'get_weather, echo',
          },
          inside: [
            {
              name: 'openai.agents.mcp_list_tools',
              attributes: {
                ...spanOf('mcp_list_tools', 'TOOL'),
                'gen_ai.tool.name': 'everything',
                'netra.mcp.server': 'everything',
              },
            },
            RESPONSE,
            tool('get_weather'),
            tool('echo', true),
            RESPONSE,
            {
              name: 'handoff to math_agent',
              attributes: { ...spanOf('handoff', 'HANDOFF'), 'netra.handoff.target_agent': 'math_agent' },
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};
