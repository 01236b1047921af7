import { CONTENT, type Program } from '../program.ts';

/** The span of a node. All nodes of an execution are inside the span of the workflow. */
const node = (name: string, type: string, custom: Record<string, string | number | boolean> = {}, failed = false) => ({
  name: 'node.execute',
  attributes: {
    'n8n.node.id': crypto.randomUUID(),
    'n8n.node.name': name,
    'n8n.node.type': type,
    'n8n.node.type_version': 1.3,
    'n8n.node.items.input': 1n,
    'n8n.node.items.output': 1n,
    ...Object.fromEntries(Object.entries(custom).map(([key, value]) => [`n8n.node.custom.${key}`, value])),
  },
  failed,
  ...(failed && {
    events: [{ name: 'exception', attributes: { 'exception.type': 'Error', 'exception.message': CONTENT } }],
  }),
});

const LANGCHAIN = '@n8n/n8n-nodes-langchain';

const answer = (provider: string, model: string, more: Record<string, number | boolean> = {}) => ({
  'llm.tokens.in': 21,
  'llm.tokens.out': 8,
  'llm.tokens.total': 29,
  'llm.tokens.estimated': false,
  'llm.tokens.cache_read': 5,
  'llm.model.provider': provider,
  'llm.model.id': model,
  'llm.cost.total': 0.001,
  'llm.cost.source': 'catalog',
  ...more,
});

const agentRun = node('AI Agent', `${LANGCHAIN}.agent`, {
  'ai.agent.version': 'v3',
  'ai.agent.tool_calls.requested': 2,
  'ai.agent.execution.succeeded': true,
  department: CONTENT,
});

export const n8n: Program = {
  id: 'n8n',
  framework: 'n8n',
  version: 'October 2026',
  source: 'github.com/n8n-io/n8n, packages/cli/src/modules/otel/*.ts, N8nLlmTracing.ts',
  setUp: `\`\`\`sh
export N8N_OTEL_ENABLED=true
export N8N_OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL>
export N8N_OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
export N8N_OTEL_EXPORTER_SERVICE_NAME=<service>
n8n start
\`\`\``,
  cannotKnow: [
    'The node of an MCP client does not name the tool that it calls.',
    'A call that fails has no model. Versions without `llm.model.id` name no model at all.',
    'If the vendor reports no tokens, n8n estimates them. Estimates are not added up.',
  ],
  scope: 'n8n-workflow',
  service: 'weather-service',
  resource: { 'n8n.instance.id': 'instance-1', 'n8n.instance.role': 'main' },
  spans: [
    {
      name: 'workflow.execute',
      attributes: {
        'n8n.workflow.id': 'w1',
        'n8n.workflow.name': 'Weather report',
        'n8n.workflow.node_count': 7n,
        'n8n.execution.id': '4711',
        'n8n.execution.mode': 'webhook',
        'n8n.execution.status': 'success',
        'n8n.workflow.custom.customer': CONTENT,
      },
      inside: [
        node('Webhook', 'n8n-nodes-base.webhook'),
        agentRun,
        node('OpenAI Chat Model', `${LANGCHAIN}.lmChatOpenAi`, answer('openai', 'gpt-5-mini-2026-01-01')),
        node('Get weather', `${LANGCHAIN}.toolHttpRequest`),
        node('Send a message in Gmail', 'n8n-nodes-base.gmailTool', {}, true),
        node('MCP Client', `${LANGCHAIN}.mcpClientTool`),
        agentRun,
        node('OpenAI Chat Model', `${LANGCHAIN}.lmChatOpenAi`, answer('openai', 'gpt-5-mini-2026-01-01')),
        node('Claude', `${LANGCHAIN}.lmChatAnthropic`, answer('anthropic', 'claude-sonnet-5')),
        node('Gemini', `${LANGCHAIN}.lmChatGoogleGemini`, {
          ...answer('google', 'gemini-3-flash', { 'llm.tokens.out': 5, 'llm.tokens.reasoning': 3 }),
        }),
        node(
          'Claude',
          `${LANGCHAIN}.lmChatAnthropic`,
          answer('anthropic', 'claude-haiku-5', { 'llm.tokens.estimated': true }),
        ),
        node('OpenAI Chat Model', `${LANGCHAIN}.lmChatOpenAi`, {}, true),
        node('Agent Report', 'n8n-nodes-base.set', { 'llm.cost.total': 0 }),
      ],
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 },
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'claude-haiku-5', vendor: 'anthropic', calls: 1, inputTokens: 0, outputTokens: 0 },
    { name: 'gemini-3-flash', vendor: 'gcp.gemini', calls: 1, inputTokens: 21, outputTokens: 8 },
  ],
  tools: [
    { name: 'Get_weather', calls: 1 },
    { name: 'Send_a_message_in_Gmail', calls: 1, failed: 1 },
  ],
  agents: ['AI Agent'],
};
