import { CONTENT, type Program } from '../program.ts';

const MESSAGES = [
  { name: 'data.input', attributes: { input: CONTENT } },
  { name: 'data.output', attributes: { response: CONTENT } },
];

const inference = (spanName: string, type: string) => ({
  name: spanName,
  attributes: {
    'span.type': type,
    'span.subtype': 'routing',
    'workflow.name': 'weather',
    'entity.count': 3n,
    'entity.1.type': 'inference.openai',
    'entity.1.provider_name': 'api.openai.com',
    'entity.1.deployment': CONTENT,
    'entity.1.inference_endpoint': 'https://api.openai.com/v1/',
    'entity.2.name': 'gpt-5-mini',
    'entity.2.type': 'model.llm.gpt-5-mini',
    'entity.3.name': 'get_weather',
    'entity.3.type': 'tool.function',
  },
  events: [
    ...MESSAGES,
    { name: 'metadata', attributes: { prompt_tokens: 21n, completion_tokens: 8n, finish_type: 'tool_call' } },
  ],
});

/** Every span has numbered entities. The tokens are in an event. */
export const monocle: Program = {
  id: 'monocle',
  framework: 'LangGraph with Monocle',
  version: 'August 2026',
  source: 'github.com/monocle2ai/monocle, apptrace/src/monocle_apptrace/instrumentation',
  setUp: `\`\`\`python
# pip install monocle_apptrace
# MONOCLE_EXPORTER=otlp OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
from monocle_apptrace import setup_monocle_telemetry

setup_monocle_telemetry(workflow_name="<service>")
\`\`\``,
  scope: 'monocle_apptrace',
  spans: [
    {
      name: 'workflow',
      attributes: {
        'span.type': 'workflow',
        'entity.1.name': 'weather',
        'entity.1.type': 'workflow.langgraph',
        'entity.2.type': 'app_hosting.generic',
      },
      inside: [
        {
          name: 'langgraph.graph.invoke',
          attributes: { 'span.type': 'agentic.turn', 'entity.1.type': 'agent.langgraph' },
          events: MESSAGES,
          inside: [
            {
              name: 'langgraph.agent',
              attributes: {
                'span.type': 'agentic.invocation',
                'entity.1.type': 'agent.langgraph',
                'entity.1.name': 'weather_agent',
                'entity.1.description': CONTENT,
              },
              events: MESSAGES,
              inside: [
                {
                  ...inference('langchain.chat', 'inference.framework'),
                  inside: [inference('openai.chat', 'inference')],
                },
                {
                  name: 'langgraph.tool',
                  attributes: {
                    'span.type': 'agentic.tool.invocation',
                    'entity.1.type': 'tool.langgraph',
                    'entity.1.name': 'get_weather',
                    'entity.1.description': CONTENT,
                    'entity.2.name': 'weather_agent',
                    'entity.2.type': 'agent.langgraph',
                  },
                  events: MESSAGES,
                },
                {
                  name: 'mcp.tool',
                  attributes: {
                    'span.type': 'agentic.mcp.invocation',
                    'entity.1.name': 'echo',
                    'entity.1.type': 'mcp.server',
                    'entity.1.url': CONTENT,
                    'entity.1.server_name': 'everything',
                  },
                  events: MESSAGES,
                  failed: true,
                },
                {
                  name: 'langgraph.handoff',
                  attributes: {
                    'span.type': 'agentic.delegation',
                    'entity.1.type': 'agent.langgraph',
                    'entity.1.from_agent': 'weather_agent',
                    'entity.1.to_agent': 'news_agent',
                  },
                },
                inference('openai.chat', 'inference'),
              ],
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
