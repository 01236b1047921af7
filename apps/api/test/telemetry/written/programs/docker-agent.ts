import { CONTENT, type Program } from '../program.ts';

type Spans = NonNullable<Program['spans']>;

function session(agent: string, inside: Spans): Spans[number] {
  return {
    name: 'runtime.session',
    attributes: {
      'gen_ai.conversation.id': `session-${agent}`,
      'cagent.agent.name': agent,
      agent,
      'session.id': `session-${agent}`,
    },
    inside: [
      ...inside,
      { name: 'cache.lookup', attributes: { 'cagent.cache.backing': 'memory', 'cagent.cache.hit': false } },
    ],
  };
}

/** The span of the call, with the span of the tool itself if it ran. */
function toolCall(
  tool: string,
  { agent, handler, inside }: { agent: string; handler: string | null; inside?: Spans },
): Spans[number] {
  const attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': `call_${tool}`,
    'cagent.agent.name': agent,
    'gen_ai.conversation.id': `session-${agent}`,
    'tool.name': tool,
    agent,
    'session.id': `session-${agent}`,
    'tool.type': 'function',
    'tool.call_id': `call_${tool}`,
    'cagent.approval.decision': handler === null ? 'deny' : 'allow',
    'cagent.approval.source': handler === null ? 'user_rejected' : 'user_approved',
  };
  const failed = inside?.some((span) => span.failed);
  return {
    name: 'runtime.tool.call',
    attributes,
    inside:
      handler === null
        ? []
        : [
            {
              name: handler,
              attributes: { ...attributes, 'gen_ai.tool.call.arguments': CONTENT, 'gen_ai.tool.call.result': CONTENT },
              ...(failed && { failed }),
              ...(inside && { inside }),
            },
          ],
  };
}

function fallback(agent: string, attempts: Spans): Spans[number] {
  return {
    scope: 'github.com/docker/docker-agent/pkg/telemetry/genai',
    name: 'runtime.fallback',
    attributes: {
      'cagent.agent.name': agent,
      'cagent.fallback.in_cooldown': false,
      'cagent.fallback.primary_model': 'anthropic/claude-sonnet-5',
      'cagent.fallback.final_model': 'openai/gpt-5-mini',
      'cagent.fallback.attempts': BigInt(attempts.length),
    },
    inside: attempts.map((attempt) => ({ ...attempt, scope: 'github.com/docker/docker-agent/pkg/telemetry/genai' })),
  };
}

const CLAUDE = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'anthropic',
  'gen_ai.request.stream': true,
  'gen_ai.request.model': 'claude-sonnet-5',
  'server.address': 'api.anthropic.com',
  'gen_ai.conversation.id': 'session-root',
};

const ANSWER = {
  name: 'chat gpt-5-mini',
  kind: 'client' as const,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.stream': true,
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
    'gen_ai.usage.input_tokens': 21n,
    'gen_ai.usage.output_tokens': 8n,
    'gen_ai.usage.cache_read.input_tokens': 5n,
    'gen_ai.input.messages': CONTENT,
    'gen_ai.output.messages': CONTENT,
  },
};

export const dockerAgent: Program = {
  id: 'docker-agent',
  framework: 'Docker Agent',
  version: 'September 2026',
  source:
    'github.com/docker/docker-agent, pkg/runtime/{loop,agent_delegation}.go, pkg/runtime/toolexec/dispatcher.go, pkg/telemetry/{genai,mcp}',
  setUp: `\`\`\`sh
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
docker agent run agent.yaml --otel
\`\`\``,
  cannotKnow: ['No span names an MCP server: it has the address of the server, or the command that runs it.'],
  scope: 'cagent',
  service: 'docker-agent',
  spans: [
    session('root', [
      fallback('root', [
        {
          name: 'chat claude-sonnet-5',
          kind: 'client',
          attributes: { ...CLAUDE, 'error.type': 'rate_limit' },
          failed: true,
        },
        ANSWER,
      ]),
      toolCall('read_file', { agent: 'root', handler: 'runtime.tool.handler' }),
      toolCall('shell', { agent: 'root', handler: null }),
      toolCall('echo', {
        agent: 'root',
        handler: 'runtime.tool.handler',
        inside: [
          {
            scope: 'github.com/docker/docker-agent/pkg/telemetry/mcp',
            name: 'tools/call echo',
            kind: 'client',
            attributes: {
              'mcp.method.name': 'tools/call',
              'gen_ai.tool.name': 'echo',
              'gen_ai.operation.name': 'execute_tool',
              'mcp.session.id': 's',
              'server.address': 'npx',
              'gen_ai.conversation.id': 'session-root',
              'error.type': 'rpc_error',
            },
            failed: true,
          },
        ],
      }),
      toolCall('transfer_task', {
        agent: 'root',
        handler: 'runtime.tool.handler.runtime',
        inside: [
          {
            name: 'runtime.task_transfer',
            attributes: { 'from.agent': 'root', 'to.agent': 'weather_agent', 'cagent.agent.name': 'root' },
            inside: [session('weather_agent', [fallback('weather_agent', [ANSWER])])],
          },
        ],
      }),
    ]),
  ],
  models: [
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, failed: 1, inputTokens: 0, outputTokens: 0 },
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 0, inputTokens: 42, outputTokens: 16 },
  ],
  tools: [
    { name: 'read_file', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['root', 'weather_agent'],
};
