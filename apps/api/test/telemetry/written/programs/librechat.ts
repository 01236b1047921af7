import { CONTENT, type Program } from '../program.ts';

type Spans = NonNullable<Program['spans']>;

/** @param root the agent that the run began with */
function observation(type: string, { node, agent, root = agent }: { node?: string; agent: string; root?: string }) {
  return {
    'user.id': 'user-1',
    'session.id': 'conversation-1',
    'langfuse.trace.name': `LibreChat Agent: ${root}`,
    'langfuse.trace.metadata.rootAgentName': root,
    'langfuse.trace.metadata.activeAgentName': root,
    'langfuse.observation.type': type,
    'langfuse.observation.input': CONTENT,
    'langfuse.observation.output': CONTENT,
    ...(agent !== root && { 'langfuse.observation.metadata.activeAgentName': agent }),
    ...(node !== undefined && { 'langfuse.observation.metadata.langgraph_node': node }),
  };
}

const VENDORS = { 'claude-sonnet-5': 'anthropic', 'gpt-5-mini': 'openai' };

function generation(model: keyof typeof VENDORS, id: string, about: { agent: string; root?: string }, fails = false) {
  const usage = '{"input":16,"output":5,"total":29,"input_cache_read":5,"output_reasoning":3}';
  const node = `agent=${id}`;
  return {
    name: 'agent',
    attributes: observation('agent', { ...about, node }),
    inside: [
      {
        name: 'llm',
        failed: fails,
        attributes: {
          ...observation('generation', { ...about, node }),
          'langfuse.observation.model.name': model,
          'langfuse.observation.metadata.ls_provider': VENDORS[model],
          ...(fails ? { 'langfuse.observation.level': 'ERROR' } : { 'langfuse.observation.usage_details': usage }),
        },
      },
    ],
  };
}

function tool(name: string, id: string, about: { agent: string; root?: string }) {
  return { name, attributes: observation('tool', { ...about, node: `tools=${id}` }) };
}

/** The graph of an agent, in the node that is named after the agent's id. */
function graphOf(id: string, about: { agent: string; root?: string }, inside: Spans) {
  const attributes = observation('agent', { ...about, node: id });
  return {
    name: id,
    attributes: observation('span', { ...about, node: id }),
    inside: [{ name: 'AgentGraph', attributes, inside }],
  };
}

const WEATHER = { agent: 'weather_agent' };
const PLANNER = { agent: 'planner' };
const WRITER = { agent: 'writer', root: 'planner' };

export const librechat: Program = {
  id: 'librechat',
  framework: 'LibreChat with Langfuse',
  version: '@librechat/agents 3.9.2',
  source:
    'the npm package @librechat/agents, src/langfuse.ts and src/instrumentation.ts, and what it sends while it runs',
  setUp: `\`\`\`sh
# LibreChat sends to Langfuse's path only: LANGFUSE_BASE_URL=<a collector>. Let the collector forward
# /api/public/otel/v1/traces to <Quartermaster's URL>/v1/traces with the header x-api-key: <key>.
\`\`\``,
  scope: 'langfuse-sdk',
  spans: [
    {
      name: 'AgentGraph',
      attributes: observation('agent', WEATHER),
      inside: [
        graphOf('agent_Xq81kd', WEATHER, [
          generation('claude-sonnet-5', 'agent_Xq81kd', WEATHER),
          tool('get_weather', 'agent_Xq81kd', WEATHER),
          tool('echo_mcp_everything', 'agent_Xq81kd', WEATHER),
          generation('claude-sonnet-5', 'agent_Xq81kd', WEATHER),
        ]),
      ],
    },
    {
      name: 'MultiAgentGraph',
      attributes: observation('agent', PLANNER),
      inside: [
        graphOf('agent_Aq81kd', PLANNER, [generation('gpt-5-mini', 'agent_Aq81kd', PLANNER, true)]),
        graphOf('agent_Bq81kd', WRITER, [generation('claude-sonnet-5', 'agent_Bq81kd', WRITER)]),
      ],
    },
  ],
  models: [
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 3, failed: 0, inputTokens: 63, outputTokens: 24 },
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, failed: 1, inputTokens: 0, outputTokens: 0 },
  ],
  tools: [
    { name: 'get_weather', calls: 1, failed: 0 },
    { name: 'echo', server: 'everything', calls: 1, failed: 0 },
  ],
  agents: ['weather_agent', 'planner', 'writer'],
};
