import { CONTENT, type Program } from '../program.ts';

function entity(name: string, kind: string) {
  return {
    'traceloop.entity.name': name,
    'traceloop.entity.path': name,
    'traceloop.entity.input': CONTENT,
    'traceloop.entity.output': CONTENT,
    'respan.entity.log_type': kind,
  };
}

const CHAT = {
  ...entity('chat', 'chat'),
  'llm.request.type': 'chat',
  'gen_ai.system': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'gen_ai.prompt.0.role': 'user',
  'gen_ai.prompt.0.content': CONTENT,
  'gen_ai.completion.0.content': CONTENT,
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'llm.usage.total_tokens': 29n,
};

/** The kind of a span is in an attribute of Respan's own. */
export const respan: Program = {
  id: 'respan',
  framework: 'OpenAI Agents SDK (JavaScript) with Respan',
  version: 'commit 1b72d7b',
  source: 'github.com/respanai/respan, javascript-sdks/instrumentations/respan-instrumentation-openai-agents',
  setUp: `\`\`\`js
// npm install @respan/tracing @respan/instrumentation-openai-agents
startTracing({
  exporter: new OTLPTraceExporter({ url: "<Quartermaster's URL>/v1/traces", headers: { 'x-api-key': '<key>' } }),
});
\`\`\``,
  scope: '@respan/instrumentation-openai-agents',
  spans: [
    {
      name: 'Weather.workflow',
      attributes: {
        ...entity('Weather', 'workflow'),
        'traceloop.workflow.name': 'Weather',
        'respan.metadata': JSON.stringify({ group_id: CONTENT }),
      },
      inside: [
        {
          name: 'weather_agent.agent',
          attributes: {
            ...entity('weather_agent', 'agent'),
            'traceloop.workflow.name': 'weather_agent',
            'respan.metadata.agent_name': 'weather_agent',
          },
          inside: [
            { name: 'openai.chat', attributes: CHAT },
            { name: 'get_weather.tool', attributes: entity('get_weather', 'tool') },
            {
              name: 'echo.tool',
              attributes: { ...entity('echo', 'tool'), 'respan.metadata': '{"mcp_data":{"server":"everything"}}' },
              failed: true,
            },
            { name: 'openai.chat', attributes: CHAT },
            { name: 'handoff.task', attributes: { ...entity('handoff', 'task'), 'respan.metadata.to_agent': 'math' } },
            { name: 'no_secrets.guardrail', attributes: entity('no_secrets', 'guardrail') },
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
  agents: ['weather_agent', 'Weather'],
};
