import { CONTENT, type Program } from '../program.ts';

const ofType = (type: string, calledFunction: string) => ({
  'ai.observability.span_type': type,
  'ai.observability.record_id': '6f1c1f0e-3a57-4c55-9a4e-0c3f1f0f7d11',
  'ai.observability.app_name': 'weather',
  'ai.observability.app_version': 'base',
  'ai.observability.call.function': calledFunction,
  'ai.observability.call.kwargs.input': CONTENT,
  'ai.observability.call.return': CONTENT,
});

const CHAT = 'langchain_core.language_models.chat_models.BaseChatModel.invoke';
const TOOL_NODE = 'langgraph._internal._runnable.RunnableCallable.ainvoke';
const RUN_OF_TOOL = 'langchain_core.tools.structured.StructuredTool._arun';

const chat = {
  name: CHAT,
  kind: 'client' as const,
  attributes: {
    ...ofType('generation', CHAT),
    'ai.observability.cost.model': 'gpt-5-mini',
    'ai.observability.cost.cost': 0.01,
    'ai.observability.cost.cost_currency': 'USD',
    'ai.observability.cost.num_tokens': 29n,
    'ai.observability.cost.num_prompt_tokens': 21n,
    'ai.observability.cost.num_completion_tokens': 8n,
  },
};

/** A tool of LangChain as an MCP adapter makes it. The node of tools names the first of its tools. */
const echo = {
  name: 'get_weather',
  attributes: { ...ofType('tool', TOOL_NODE), 'gen_ai.tool.name': TOOL_NODE },
  inside: [
    {
      name: 'echo',
      attributes: {
        'ai.observability.span_type': 'MCP',
        'ai.observability.mcp.tool_name': 'echo',
        'ai.observability.mcp.input_arguments': CONTENT,
        'ai.observability.mcp.output_content': CONTENT,
        'ai.observability.mcp.output_is_error': false,
      },
      inside: [
        {
          name: RUN_OF_TOOL,
          attributes: {
            ...ofType('tool', RUN_OF_TOOL),
            'gen_ai.tool.name': RUN_OF_TOOL,
            'ai.observability.mcp.tool_name': 'echo',
            'ai.observability.mcp.server_name': 'everything',
            'ai.observability.mcp.input_arguments': CONTENT,
            'ai.observability.mcp.output_content': CONTENT,
          },
        },
      ],
    },
  ],
};

const getWeather = {
  name: 'weather.tools.get_weather',
  attributes: {
    ...ofType('tool', 'weather.tools.get_weather'),
    'gen_ai.tool.name': 'weather.tools.get_weather',
  },
};

export const trulensLanggraph: Program = {
  id: 'trulens',
  framework: 'LangGraph with TruLens',
  version: 'August 2026',
  source:
    'github.com/truera/trulens, src/otel/semconv, src/core/trulens/core/otel/instrument.py, src/apps/langgraph and src/apps/langchain',
  setUp: `\`\`\`python
# pip install trulens trulens-apps-langgraph opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from trulens.core.session import TruSession

TruSession()
trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
\`\`\``,
  cannotKnow: ['The agent has no name. Calls that one function makes of several models are one call of none of them.'],
  scope: 'trulens',
  service: 'trulens',
  spans: [
    {
      name: 'weather.agent.invoke',
      attributes: {
        ...ofType('record_root', 'weather.agent.invoke'),
        'ai.observability.record_root.input': CONTENT,
        'ai.observability.record_root.output': CONTENT,
      },
      inside: [chat, getWeather, chat, echo, chat],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 3, inputTokens: 63, outputTokens: 24 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
  ],
};
