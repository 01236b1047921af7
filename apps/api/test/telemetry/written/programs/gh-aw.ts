import { CONTENT, type Program } from '../program.ts';

const GATEWAY = 'github.com/github/gh-aw-mcpg';

const RUN = {
  'gh-aw.workflow.name': 'Weather report',
  'gh-aw.run.id': '1234567890',
  'gh-aw.run.actor': CONTENT,
  'gh-aw.repository': 'acme/weather',
  'gh-aw.engine.id': 'copilot',
  'gen_ai.system': 'github_models',
  'gen_ai.request.model': 'claude-sonnet-5',
};

const USAGE = {
  'gen_ai.usage.input_tokens': 42n,
  'gen_ai.usage.output_tokens': 16n,
  'gen_ai.usage.total_tokens': 58n,
  'gen_ai.usage.cache_read.input_tokens': 5n,
};

type Spans = NonNullable<Program['spans']>;

function toolCall(tool: string, { inside = [], failed = false }: { inside?: Spans; failed?: boolean } = {}) {
  return {
    scope: GATEWAY,
    name: 'gateway.request',
    kind: 'server' as const,
    attributes: { 'http.request.method': 'POST', 'url.path': '/mcp/everything', 'gateway.tag': 'unified' },
    inside: [
      {
        scope: GATEWAY,
        name: 'mcp.tool_call',
        attributes: {
          'gen_ai.system': 'mcp',
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.agent.name': 'mcp-gateway',
          'gen_ai.agent.id': 'everything',
          'mcp.method': 'tools/call',
          'gen_ai.tool.name': tool,
        },
        failed,
        inside,
      },
    ],
  };
}

function atServer(tool: string) {
  return {
    scope: GATEWAY,
    name: 'gateway.backend.execute',
    kind: 'client' as const,
    attributes: { 'gen_ai.tool.name': tool, 'gen_ai.agent.id': 'everything' },
  };
}

export const ghAw: Program = {
  id: 'gh-aw',
  framework: 'GitHub Agentic Workflows',
  version: 'September 2026',
  source:
    'github.com/github/gh-aw, actions/setup/js/send_otlp_span.cjs and specs/otel-observability-spec.md, and github.com/github/gh-aw-mcpg, internal/tracing',
  setUp: `\`\`\`yaml
# Frontmatter of the workflow
observability:
  otlp:
    endpoint: <Quartermaster's URL>
    headers: { x-api-key: "\${{ secrets.QUARTERMASTER_KEY }}" }
\`\`\``,
  cannotKnow: ['One span has the tokens of all calls of the model in a run, which count as one call.'],
  scope: 'gh-aw',
  service: 'gh-aw.weather-report',
  spans: [
    {
      name: 'gh-aw.agent.setup',
      attributes: { ...RUN, 'gh-aw.job.name': 'agent', 'gh-aw.event_name': 'schedule' },
      inside: [
        toolCall('echo', { inside: [atServer('echo')] }),
        // Refused by the gateway's rules
        toolCall('get-sum', { failed: true }),
        {
          scope: GATEWAY,
          name: 'proxy.difc_pipeline',
          attributes: { 'gen_ai.tool.name': 'list_issues', 'url.path': '/api/v3/repos' },
        },
        {
          name: 'gh-aw.agent.conclusion',
          attributes: { ...RUN, ...USAGE, 'gh-aw.job.name': 'agent', 'gh-aw.run.status': 'success' },
          inside: [
            {
              name: 'gh-aw.agent.agent',
              kind: 'client',
              attributes: {
                ...RUN,
                ...USAGE,
                'gh-aw.job.name': 'agent',
                'gen_ai.operation.name': 'chat',
                'gen_ai.provider.name': 'github_models',
                'gen_ai.response.model': 'claude-sonnet-5',
                'gen_ai.workflow.name': 'Weather report',
              },
            },
          ],
        },
      ],
    },
    { name: 'gh-aw.safe_outputs.conclusion', attributes: { ...RUN, 'gh-aw.job.name': 'safe_outputs' } },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 42, outputTokens: 16 }],
  tools: [{ name: 'echo', server: 'everything', calls: 1 }],
  agents: ['Weather report'],
};
