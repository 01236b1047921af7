import { CONTENT, type Program } from '../program.ts';

const RUN = {
  'openclaw.channel': 'webchat',
  'openclaw.agent': 'weather_agent',
  'openclaw.provider': 'anthropic',
  'openclaw.model': 'claude-sonnet-5',
};

const MODEL = {
  'openclaw.provider': 'anthropic',
  'openclaw.model': 'claude-sonnet-5',
  'gen_ai.system': 'anthropic',
  'gen_ai.request.model': 'claude-sonnet-5',
  'gen_ai.operation.name': 'chat',
};

const CALL = {
  ...MODEL,
  'openclaw.api': 'anthropic-messages',
  'openclaw.transport': 'http',
  'openclaw.model_call.usage.input_tokens': 20n,
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.input.messages': CONTENT,
  'openclaw.content.input_messages': CONTENT,
  'input.value': CONTENT,
};

const TOOL = {
  'openclaw.tool.source': 'core',
  'gen_ai.operation.name': 'execute_tool',
  'openclaw.content.tool_input': CONTENT,
  'gen_ai.tool.call.arguments': CONTENT,
};

/** A run has a span for each call of the model, and a span `openclaw.model.usage` with the sum of their tokens. */
export const openclaw: Program = {
  id: 'openclaw',
  framework: 'OpenClaw',
  version: '2026',
  source: 'github.com/openclaw/openclaw, extensions/diagnostics-otel/src/service-recorders-*.ts',
  setUp: `\`\`\`json5
// openclaw plugins enable diagnostics-otel
{
  diagnostics: {
    enabled: true,
    otel: {
      enabled: true,
      endpoint: "<Quartermaster's URL>",
      headers: { "x-api-key": "<key>" },
      serviceName: "<service>",
      traces: true,
    },
  },
}
\`\`\``,
  scope: 'openclaw',
  spans: [
    {
      name: 'openclaw.message.processed',
      attributes: { 'openclaw.channel': 'webchat', 'openclaw.outcome': 'completed', 'input.value': CONTENT },
      inside: [
        {
          name: 'openclaw.harness.run',
          attributes: { ...RUN, 'openclaw.harness.id': 'openclaw', 'output.value': CONTENT, 'openclaw.error': CONTENT },
          inside: [
            {
              name: 'openclaw.run',
              attributes: RUN,
              inside: [
                {
                  name: 'openclaw.model.call',
                  attributes: CALL,
                  events: [
                    {
                      name: 'openclaw.provider.request',
                      attributes: { 'openclaw.upstreamRequestIdHash': 'sha256:1f' },
                    },
                  ],
                },
                {
                  name: 'openclaw.tool.execution',
                  attributes: {
                    ...TOOL,
                    'openclaw.toolName': 'read',
                    'gen_ai.tool.name': 'read',
                    'gen_ai.tool.call.id': 'call_1',
                  },
                },
                {
                  name: 'openclaw.tool.execution',
                  attributes: {
                    ...TOOL,
                    'openclaw.toolName': 'everything__echo',
                    'openclaw.tool.source': 'mcp',
                    'openclaw.tool.owner': 'everything',
                    'gen_ai.tool.name': 'everything__echo',
                    'gen_ai.tool.call.id': 'call_2',
                    'openclaw.errorCategory': 'timeout',
                  },
                  failed: true,
                },
                {
                  name: 'openclaw.tool.execution',
                  attributes: {
                    ...TOOL,
                    'openclaw.toolName': 'exec',
                    'gen_ai.tool.name': 'exec',
                    'gen_ai.tool.call.id': 'call_3',
                    'openclaw.outcome': 'blocked',
                    'openclaw.deniedReason': 'policy',
                  },
                },
                { name: 'openclaw.model.call', attributes: CALL },
                {
                  name: 'openclaw.model.usage',
                  attributes: {
                    ...RUN,
                    ...MODEL,
                    'openclaw.tokens.input': 40n,
                    'gen_ai.usage.input_tokens': 42n,
                    'gen_ai.usage.output_tokens': 16n,
                  },
                },
                {
                  name: 'openclaw.model.failover',
                  attributes: {
                    'openclaw.provider': 'anthropic',
                    'openclaw.model': 'claude-sonnet-5',
                    'openclaw.failover.to_model': 'gpt-5-mini',
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'read', runsAt: 'agent', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};
