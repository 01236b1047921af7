import { CONTENT, type Program } from '../program.ts';

const TIMES = { 'gen_ai.event.start_time': '2026-05-15T10:00:00', 'gen_ai.event.end_time': '2026-05-15T10:00:01' };

const COMMON = { ...TIMES, 'gen_ai.system': 'strands-agents' };

const TOKENS = {
  'gen_ai.usage.prompt_tokens': 21n,
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.completion_tokens': 8n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.usage.total_tokens': 29n,
  'gen_ai.usage.cache_read_input_tokens': 3n,
  'gen_ai.server.time_to_first_token': 100n,
};

const message = (name: string) => ({ name, attributes: { content: CONTENT, message: CONTENT, role: 'user' } });

const chat = {
  name: 'chat',
  attributes: {
    ...COMMON,
    ...TOKENS,
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'us.anthropic.claude-sonnet-5',
  },
  events: ['gen_ai.system.message', 'gen_ai.user.message', 'gen_ai.choice'].map(message),
};

const tool = (name: string, failed = false) => ({
  name: `execute_tool ${name}`,
  attributes: {
    ...COMMON,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': `tooluse_${name}`,
    'gen_ai.tool.description': CONTENT,
    'gen_ai.tool.json_schema': CONTENT,
    'gen_ai.tool.status': failed ? 'error' : 'success',
  },
  events: ['gen_ai.tool.message', 'gen_ai.choice'].map(message),
  failed,
});

type Spans = NonNullable<Program['spans']>;

const agent = (name: string, inside: Spans) => ({
  name: `invoke_agent ${name}`,
  attributes: {
    ...COMMON,
    ...TOKENS,
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'gen_ai.request.model': 'us.anthropic.claude-sonnet-5',
    'gen_ai.agent.tools': '["get_weather"]',
    system_prompt: CONTENT,
  },
  inside: [
    {
      name: 'execute_event_loop_cycle',
      attributes: {
        ...COMMON,
        'gen_ai.operation.name': 'execute_event_loop_cycle',
        'event_loop.cycle_id': 'cycle-1',
      },
      inside,
    },
  ],
});

/** A swarm and a graph are named by what they are. Their agents are inside, and hand over with a tool of the framework. */
export const strandsPython: Program = {
  id: 'strands-python',
  framework: 'Strands Agents for Python',
  version: 'May 2026',
  source: 'github.com/strands-agents/sdk-python, src/strands/telemetry/tracer.py',
  setUp: `\`\`\`python
# pip install 'strands-agents[otel]'
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from strands.telemetry import StrandsTelemetry

StrandsTelemetry().setup_otlp_exporter()
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.', 'A swarm or a graph has no name.'],
  scope: 'strands.telemetry.tracer',
  spans: [
    {
      name: 'invoke_swarm',
      kind: 'client',
      attributes: { ...COMMON, 'gen_ai.operation.name': 'invoke_swarm', 'gen_ai.agent.name': 'swarm' },
      events: ['gen_ai.user.message', 'gen_ai.choice'].map(message),
      inside: [
        agent('weather_agent', [chat, tool('get_weather', true), tool('echo'), tool('handoff_to_agent')]),
        agent('umbrella_agent', [chat]),
      ],
    },
  ],
  models: [
    { name: 'us.anthropic.claude-sonnet-5', vendor: 'aws.bedrock', calls: 2, inputTokens: 42, outputTokens: 16 },
  ],
  tools: [
    { name: 'get_weather', calls: 1, failed: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
  ],
  agents: ['weather_agent', 'umbrella_agent'],
};
