import { CONTENT, type Program } from '../program.ts';

type Spans = NonNullable<Program['spans']>;

const PLACE = { 'traceloop.workflow.name': 'weather_agent', 'traceloop.entity.path': 'model' };

const METADATA = {
  'traceloop.association.properties.langgraph_node': 'model',
  'traceloop.association.properties.thread_id': 'thread-1',
  'traceloop.association.properties.question': CONTENT,
};

const INPUT = { 'traceloop.entity.input': CONTENT, 'traceloop.entity.output': CONTENT };

const chat = (failed = false) => ({
  name: 'ChatOpenAI.chat',
  kind: 'client' as const,
  attributes: {
    ...PLACE,
    ...METADATA,
    'gen_ai.provider.name': 'openai',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.input.messages': CONTENT,
    'gen_ai.tool.definitions': CONTENT,
    ...(failed
      ? { 'error.type': 'RateLimitError' }
      : {
          'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
          'gen_ai.response.id': 'chatcmpl-1',
          'gen_ai.output.messages': CONTENT,
          'gen_ai.usage.input_tokens': 21n,
          'gen_ai.usage.output_tokens': 8n,
          'gen_ai.usage.total_tokens': 29n,
        }),
  },
  failed,
});

const task = (name: string, inside: Spans) => ({
  name: `execute_task ${name}`,
  attributes: {
    ...PLACE,
    ...METADATA,
    ...INPUT,
    'traceloop.span.kind': 'task',
    'traceloop.entity.name': name,
    'gen_ai.provider.name': 'langgraph',
    'gen_ai.operation.name': 'execute_task',
    'gen_ai.task.name': name,
    'gen_ai.task.id': '019a-1',
    'gen_ai.task.parent.id': '019a-0',
  },
  inside,
});

const tool = (name: string, failed = false) => ({
  name: `execute_tool ${name}`,
  attributes: {
    ...PLACE,
    ...METADATA,
    ...INPUT,
    'traceloop.span.kind': 'tool',
    'traceloop.entity.name': name,
    'gen_ai.provider.name': 'langgraph',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.description': CONTENT,
    'gen_ai.tool.call.arguments': CONTENT,
    'gen_ai.tool.call.result': CONTENT,
  },
  failed,
});

/** A graph has two spans: that of its method, and that of its callback. Any other chain is called an agent, too. */
const graph = (name: string, inside: Spans) => ({
  name: `invoke_agent ${name}`,
  attributes: {
    'gen_ai.provider.name': 'langgraph',
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'gen_ai.conversation.id': 'thread-1',
    'gen_ai.workflow.nodes': ['model', 'tools'],
  },
  inside: [chain(name, 'langgraph', inside)],
});

const chain = (name: string, provider: string, inside: Spans) => ({
  name: `${name}.workflow`,
  attributes: {
    ...INPUT,
    'traceloop.workflow.name': name,
    'traceloop.entity.path': '',
    'traceloop.span.kind': 'workflow',
    'traceloop.entity.name': name,
    'gen_ai.provider.name': provider,
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': name,
    'gen_ai.agent.id': '019a-0',
  },
  inside,
});

export const langgraphOpenllmetryPython: Program = {
  id: 'langgraph-python-openllmetry',
  framework: 'LangChain and LangGraph for Python with OpenLLMetry',
  version: 'June 2026',
  source: 'github.com/traceloop/openllmetry, packages/opentelemetry-instrumentation-langchain',
  setUp: `\`\`\`python
# pip install langgraph langchain-openai opentelemetry-instrumentation-langchain opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LangchainInstrumentor().instrument(tracer_provider=provider)
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.', 'There are no spans of embeddings.'],
  scope: 'opentelemetry.instrumentation.langchain',
  spans: [
    graph('weather_agent', [
      task('model', [
        { name: 'goto tools', attributes: { 'gen_ai.operation.name': 'goto', 'langgraph.command.goto_node': 'tools' } },
        chat(true),
        chat(),
      ]),
      task('tools', [tool('get_weather', true), tool('echo')]),
      {
        name: 'execute_task SummarizationMiddleware.before_model',
        attributes: {
          'gen_ai.operation.name': 'execute_task',
          'gen_ai.task.kind': 'SummarizationMiddleware',
          'gen_ai.provider.name': 'langchain',
        },
      },
    ]),
    graph('LangGraph', [task('model', [chat()])]),
    chain('RunnableSequence', 'langchain', [task('ChatPromptTemplate', []), chat()]),
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 4, failed: 1, inputTokens: 63, outputTokens: 24 }],
  tools: [
    { name: 'get_weather', calls: 1, failed: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 0 },
  ],
  agents: ['weather_agent'],
};
