import { CONTENT, type Program } from '../program.ts';

const JSON_TEXTS = { 'input.mime_type': 'application/json', 'output.mime_type': 'application/json' };

/** Each activity of an agent's workflow has a span, which repeats what the spans inside report. */
function activity(name: string, kind: 'LLM' | 'TOOL' | 'TASK', agent = 'Weather Agent') {
  return {
    name: `${agent}.${name}`,
    attributes: {
      ...JSON_TEXTS,
      'openinference.span.kind': kind,
      'agent.name': agent,
      'workflow.activity': name,
      'workflow.instance_id': '0f1e2d',
      'gen_ai.operation.name': { LLM: 'chat', TOOL: 'execute_tool', TASK: 'invoke_agent' }[kind],
      'input.value': CONTENT,
      'output.value': CONTENT,
    },
  };
}

const CHAT = {
  ...JSON_TEXTS,
  'openinference.span.kind': 'LLM',
  'agent.name': 'ChatClient',
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'llm.model_name': 'gpt-5-mini',
  'gen_ai.request.model': 'gpt-5-mini',
  'input.value': CONTENT,
  'llm.input_messages.0.message.content': CONTENT,
  'gen_ai.input.messages': CONTENT,
};

function tool(name: string) {
  return {
    'openinference.span.kind': 'TOOL',
    'input.value': CONTENT,
    'input.mime_type': 'application/json',
    'agent.name': 'AgentToolExecutor',
    'tool.name': name,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
  };
}

export const daprAgents: Program = {
  id: 'dapr-agents',
  framework: 'Dapr Agents',
  version: 'August 2026',
  source: 'github.com/dapr/dapr-agents, dapr_agents/observability/wrappers',
  setUp: `\`\`\`python
# pip install dapr-agents opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from dapr_agents.observability import DaprAgentsInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
DaprAgentsInstrumentor().instrument(tracer_provider=provider)
\`\`\``,
  cannotKnow: [
    'No span names the MCP server of a tool.',
    "A model that Dapr's conversation API calls is named by its component, and the vendor is not.",
  ],
  scope: 'dapr_agents.observability.instrumentor',
  spans: [
    {
      name: 'invoke_agent Weather Agent',
      attributes: {
        'openinference.span.kind': 'AGENT',
        'workflow.name': 'dapr.agents.weather.workflow',
        'workflow.operation': 'run_and_wait',
        'agent.name': 'Weather Agent',
        'agent.role': CONTENT,
        'agent.goal': CONTENT,
        'input.mime_type': 'application/json',
        'input.value': CONTENT,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'Weather Agent',
      },
      inside: [
        activity('record_initial_entry', 'TASK'),
        {
          ...activity('call_llm', 'LLM'),
          inside: [
            {
              name: 'chat gpt-5-mini',
              attributes: {
                ...CHAT,
                'gen_ai.response.id': 'chatcmpl-1',
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
                'gen_ai.usage.cache_read.input_tokens': 5n,
                'gen_ai.output.messages': CONTENT,
                'output.value': CONTENT,
              },
            },
          ],
        },
        {
          ...activity('run_tool', 'TOOL'),
          inside: [{ name: 'execute_tool GetWeather', attributes: tool('GetWeather') }],
        },
        {
          ...activity('run_tool', 'TOOL'),
          failed: true,
          inside: [
            {
              name: 'execute_tool EverythingEcho',
              attributes: { ...tool('EverythingEcho'), 'error.type': 'ToolError' },
              failed: true,
            },
          ],
        },
        activity('save_tool_results', 'TOOL'),
        {
          ...activity('call_llm', 'LLM'),
          failed: true,
          inside: [{ name: 'chat gpt-5-mini', attributes: { ...CHAT, 'error.type': 'RateLimitError' }, failed: true }],
        },
        activity('finalize_workflow', 'TASK'),
      ],
    },
    activity('generate_report', 'LLM', 'WorkflowActivity'),
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [
    { name: 'GetWeather', calls: 1 },
    { name: 'EverythingEcho', calls: 1, failed: 1 },
  ],
  agents: ['Weather Agent'],
};
