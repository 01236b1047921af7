import { CONTENT, type Program } from '../program.ts';

type Spans = NonNullable<Program['spans']>;

const chain = (name: string, inside: Spans = []) => ({
  name,
  attributes: { 'openinference.span.kind': 'CHAIN', 'input.value': CONTENT, 'output.value': CONTENT },
  inside,
});

/** The provider is that of the client's base class, OpenAI's for most of them. */
const chat = (name: string, model: string, inside: Spans = []) => ({
  name,
  attributes: {
    'openinference.span.kind': 'LLM',
    'llm.model_name': model,
    'llm.provider': 'openai',
    'llm.system': 'openai',
    'llm.invocation_parameters': CONTENT,
    'input.value': CONTENT,
    'output.value': CONTENT,
    ...(inside.length === 0 && {
      'llm.token_count.prompt': 21n,
      'llm.token_count.completion': 8n,
      'llm.token_count.total': 29n,
    }),
  },
  inside,
});

const embedding = (name: string, inside: Spans = []) => ({
  name,
  attributes: {
    'openinference.span.kind': 'EMBEDDING',
    'embedding.model_name': 'text-embedding-3-small',
    'embedding.embeddings.0.embedding.text': CONTENT,
  },
  inside,
});

const tool = (name: string, { inside = [], failed = false }: { inside?: Spans; failed?: boolean } = {}) => ({
  name: 'FunctionTool.acall',
  attributes: {
    'openinference.span.kind': 'TOOL',
    'tool.name': name,
    'tool.description': CONTENT,
    'tool.parameters': CONTENT,
    'input.value': CONTENT,
  },
  inside,
  failed,
});

const NAMES_NO_AGENT = 'No span names an agent.';
const NAMES_NO_SERVER = 'No span names the MCP server of a tool.';

/** Every method has a span, so a client's method may be inside another one. An agent is a workflow of steps. */
export const llamaindexOpeninference: Program = {
  id: 'llamaindex-openinference',
  framework: 'LlamaIndex for Python with OpenInference',
  version: 'August 2026',
  source:
    'github.com/Arize-ai/openinference, python/instrumentation/openinference-instrumentation-llama-index; github.com/run-llama/llama_index',
  setUp: `\`\`\`python
# pip install openinference-instrumentation-llama-index opentelemetry-exporter-otlp
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL>, OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
LlamaIndexInstrumentor().instrument(tracer_provider=provider)
\`\`\``,
  cannotKnow: [NAMES_NO_AGENT, NAMES_NO_SERVER],
  scope: 'openinference.instrumentation.llama_index',
  spans: [
    chain('AgentWorkflow.run', [
      chain('AgentWorkflow.init_run'),
      chain('AgentWorkflow.run_agent_step', [chat('OpenAI.astream_chat', 'gpt-5-mini')]),
      chain('AgentWorkflow.call_tool', [tool('get_weather', { failed: true })]),
      chain('AgentWorkflow.call_tool', [
        tool('docs', {
          inside: [
            chain('RetrieverQueryEngine.query', [
              embedding('OpenAIEmbedding.get_query_embedding', [embedding('OpenAIEmbedding._get_query_embedding')]),
              chat('OpenAI.predict', 'gpt-5-mini', [chat('OpenAI.chat', 'gpt-5-mini')]),
            ]),
          ],
        }),
      ]),
      chain('AgentWorkflow.call_tool', [tool('handoff')]),
      chain('AgentWorkflow.run_agent_step', [chat('Groq.astream_chat', 'openai/gpt-oss-120b')]),
    ]),
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 },
    { name: 'openai/gpt-oss-120b', vendor: 'groq', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, inputTokens: 0, outputTokens: 0 },
  ],
  tools: [
    { name: 'get_weather', calls: 1, failed: 1 },
    { name: 'docs', calls: 1 },
  ],
};

type Attributes = NonNullable<Spans[number]['attributes']>;

const task = (name: string, { attributes = {}, inside = [] }: { attributes?: Attributes; inside?: Spans } = {}) => ({
  name,
  attributes: {
    'traceloop.span.kind': name.endsWith('.workflow') ? 'workflow' : 'task',
    'traceloop.entity.name': name,
    'traceloop.entity.input': CONTENT,
    'traceloop.entity.output': CONTENT,
    ...attributes,
  },
  inside,
});

/** A client is a task. OpenAI's client has its own instrumentation. A step that calls a tool names it. */
export const llamaindexOpenllmetry: Program = {
  id: 'llamaindex-openllmetry',
  framework: 'LlamaIndex for Python with OpenLLMetry',
  version: 'June 2026',
  source:
    'github.com/traceloop/openllmetry, packages/opentelemetry-instrumentation-llamaindex (dispatcher_wrapper.py, span_utils.py)',
  setUp: `\`\`\`python
# pip install traceloop-sdk
from traceloop.sdk import Traceloop

Traceloop.init(api_endpoint="<Quartermaster's URL>", headers={"x-api-key": "<key>"})
\`\`\``,
  cannotKnow: [NAMES_NO_SERVER],
  scope: 'opentelemetry.instrumentation.llamaindex',
  spans: [
    task('FunctionAgent.workflow', {
      inside: [
        task('init_run.task'),
        task('run_agent_step.task', {
          inside: [
            task('Anthropic.task', {
              attributes: {
                'gen_ai.operation.name': 'chat',
                'gen_ai.provider.name': 'anthropic',
                'gen_ai.request.model': 'claude-sonnet-5',
                'gen_ai.response.model': 'claude-sonnet-5',
                'gen_ai.input.messages': CONTENT,
                'gen_ai.output.messages': CONTENT,
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
              },
            }),
          ],
        }),
        task('call_tool.task', {
          attributes: { 'tool.name': 'get_weather', 'tool.arguments': CONTENT },
          inside: [task('FunctionTool.task')],
        }),
        task('OpenAIEmbedding.task', {
          attributes: { 'gen_ai.operation.name': 'embeddings', 'gen_ai.request.model': 'text-embedding-3-small' },
        }),
        task('CohereRerank.task', {
          attributes: { 'gen_ai.operation.name': 'rerank', 'gen_ai.request.model': 'rerank-v3.5' },
        }),
        task('run_agent_step.task', {
          inside: [
            {
              scope: 'opentelemetry.instrumentation.openai.v1',
              name: 'openai.chat',
              kind: 'client',
              attributes: {
                'llm.request.type': 'chat',
                'gen_ai.system': 'openai',
                'gen_ai.request.model': 'gpt-5-mini',
                'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
                'gen_ai.usage.input_tokens': 21n,
                'gen_ai.usage.output_tokens': 8n,
              },
            },
          ],
        }),
      ],
    }),
  ],
  models: [
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, inputTokens: 0, outputTokens: 0 },
    { name: 'rerank-v3.5', vendor: 'cohere', calls: 1, inputTokens: 0, outputTokens: 0 },
  ],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['FunctionAgent'],
};
