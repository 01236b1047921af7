import { CONTENT, type Program } from '../program.ts';

const IDS = { 'gcp.vertex.agent.invocation_id': 'e-1', 'gcp.vertex.agent.event_id': 'event-1' };

const TOKENS = {
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.response.finish_reasons': ['stop'],
};

type Spans = NonNullable<Program['spans']>;

const message = (event: string) => ({ event, attributes: { 'gen_ai.system': 'gemini' } });

/** The answer after a search by Google's API. */
const SEARCHED = JSON.stringify({
  content: { parts: [{ text: CONTENT }], role: 'model' },
  grounding_metadata: { web_search_queries: [CONTENT], grounding_chunks: [] },
});

/** A step of an agent: the request to the model, and after it the tools and agents that the answer asks for. */
const callLlm = (agent: string, inside: Spans = [], model = 'gemini-3-flash', response = CONTENT) => ({
  name: 'call_llm',
  attributes: {
    ...IDS,
    ...TOKENS,
    'gen_ai.system': 'gcp.vertex.agent',
    'gen_ai.request.model': model,
    'gcp.vertex.agent.session_id': 'session-1',
    'gcp.vertex.agent.llm_request': CONTENT,
    'gcp.vertex.agent.llm_response': response,
  },
  inside: [
    {
      name: `generate_content ${model}`,
      attributes: {
        ...IDS,
        ...TOKENS,
        'gen_ai.system': model.startsWith('openai/') ? 'openai' : 'gemini',
        'gen_ai.operation.name': 'generate_content',
        'gen_ai.request.model': model,
        'gen_ai.agent.name': agent,
        'gen_ai.conversation.id': 'session-1',
      },
      logs: ['gen_ai.system.message', 'gen_ai.user.message', 'gen_ai.choice'].map(message),
    },
    ...inside,
  ],
});

const tool = (name: string, kind: string, id = `adk-${name}`) => ({
  name: `execute_tool ${name}`,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.description': CONTENT,
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': kind,
    'gen_ai.agent.name': 'weather_agent',
    'gen_ai.tool.call.id': id,
    'gcp.vertex.agent.event_id': 'event-2',
    'gcp.vertex.agent.llm_request': '{}',
    'gcp.vertex.agent.llm_response': '{}',
    'gcp.vertex.agent.tool_call_args': CONTENT,
    'gcp.vertex.agent.tool_response': CONTENT,
  },
});

const failing = (name: string, error: string) => {
  const span = tool(name, 'FunctionTool', '<not specified>');
  return { ...span, attributes: { ...span.attributes, 'error.type': error }, failed: true };
};

const agent = (name: string, inside: Spans) => ({
  name: `invoke_agent ${name}`,
  attributes: {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.description': CONTENT,
    'gen_ai.agent.name': name,
    'gen_ai.conversation.id': 'session-1',
  },
  inside,
});

/** The span of a step is around the tools and agents that run in it. An agent is handed over to with a tool of the framework. */
export const googleAdkPython: Program = {
  id: 'google-adk-python',
  framework: 'Google ADK for Python',
  version: 'commit 1d23a29',
  source: 'github.com/google/adk-python, src/google/adk/telemetry (tracing.py, node_tracing.py, _instrumentation.py)',
  setUp: `\`\`\`python
# pip install google-adk opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from google.adk.telemetry.setup import maybe_set_otel_providers

maybe_set_otel_providers()
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'gcp.vertex.agent',
  spans: [
    {
      name: 'invocation',
      inside: [
        {
          name: 'invoke_workflow forecast',
          attributes: {
            'gen_ai.operation.name': 'invoke_workflow',
            'gen_ai.workflow.name': 'forecast',
            'gen_ai.conversation.id': 'session-1',
          },
          inside: [
            {
              name: 'invoke_node load',
              attributes: { 'gen_ai.operation.name': 'invoke_node', 'gen_ai.conversation.id': 'session-1' },
            },
            agent('weather_agent', [
              callLlm('weather_agent', [
                tool('get_weather', 'FunctionTool'),
                tool('echo', 'McpTool'),
                {
                  name: 'execute_tool (merged)',
                  attributes: {
                    'gen_ai.operation.name': 'execute_tool',
                    'gen_ai.tool.name': '(merged tools)',
                    'gen_ai.tool.description': '(merged tools)',
                    'gen_ai.tool.call.id': 'event-3',
                    'gcp.vertex.agent.tool_call_args': 'N/A',
                    'gcp.vertex.agent.tool_response': CONTENT,
                  },
                },
              ]),
              callLlm('weather_agent', [
                {
                  ...tool('expert', 'AgentTool'),
                  inside: [{ name: 'invocation', inside: [agent('expert', [callLlm('expert')])] }],
                },
              ]),
              callLlm('weather_agent', [], 'gemini-3-flash', SEARCHED),
              callLlm('weather_agent', [failing('get_weather', 'TimeoutError')]),
              callLlm('weather_agent', [
                tool('transfer_to_agent', 'TransferToAgentTool'),
                agent('umbrella_agent', [callLlm('umbrella_agent', [], 'openai/gpt-5-mini')]),
              ]),
            ]),
          ],
        },
      ],
    },
  ],
  models: [
    { name: 'gemini-3-flash', vendor: 'gcp.gemini', calls: 6, inputTokens: 126, outputTokens: 48 },
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
  ],
  tools: [
    { name: 'get_weather', calls: 2, failed: 1 },
    { name: 'google_search', runsAt: 'vendor', calls: 1 },
    { name: 'expert', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
  ],
  agents: ['forecast', 'weather_agent', 'expert', 'umbrella_agent'],
};
