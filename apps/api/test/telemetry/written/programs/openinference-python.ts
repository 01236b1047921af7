import { CONTENT, type Program } from '../program.ts';

const setUp = (name: string, instrumentor: string) => `\`\`\`python
# pip install openinference-instrumentation-${name} opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from openinference.instrumentation.${name} import ${instrumentor}
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
${instrumentor}().instrument(tracer_provider=provider)
\`\`\``;

const LLM = {
  'openinference.span.kind': 'LLM',
  'llm.input_messages.0.message.content': CONTENT,
  'llm.output_messages.0.message.content': CONTENT,
  'llm.invocation_parameters': CONTENT,
  'llm.tools.0.tool.json_schema': CONTENT,
  'input.value': CONTENT,
  'output.value': CONTENT,
};

const TOKENS = { 'llm.token_count.prompt': 21n, 'llm.token_count.completion': 8n };

/** The span of an agent has the sum of the tokens, and no model. A step is a chain. */
export const smolagents: Program = {
  id: 'smolagents',
  framework: 'smolagents with OpenInference',
  version: 'August 2026',
  source: 'github.com/Arize-ai/openinference, python/instrumentation/openinference-instrumentation-smolagents/src',
  setUp: setUp('smolagents', 'SmolagentsInstrumentor'),
  cannotKnow: ['An agent without a name is named by its class.', 'No span names the MCP server of a tool.'],
  scope: 'openinference.instrumentation.smolagents',
  spans: [
    {
      name: 'weather_agent.run',
      attributes: {
        'openinference.span.kind': 'AGENT',
        'input.value': CONTENT,
        'smolagents.task': CONTENT,
        'smolagents.max_steps': 20n,
        'smolagents.tools_names': ['get_weather', 'final_answer'],
        'llm.token_count.prompt': 42n,
        'llm.token_count.completion': 16n,
      },
      inside: [
        {
          name: 'Step 1',
          attributes: { 'openinference.span.kind': 'CHAIN', 'input.value': CONTENT, 'output.value': CONTENT },
          inside: [
            {
              name: 'LiteLLMModel.generate',
              attributes: { ...LLM, ...TOKENS, 'llm.model_name': 'anthropic/claude-sonnet-5' },
            },
            {
              name: 'SimpleTool',
              attributes: {
                'openinference.span.kind': 'TOOL',
                'tool.name': 'get_weather',
                'tool.description': CONTENT,
                'tool.parameters': CONTENT,
                'input.value': CONTENT,
              },
            },
          ],
        },
        {
          name: 'Step 2',
          attributes: { 'openinference.span.kind': 'CHAIN' },
          inside: [
            {
              name: 'LiteLLMModel.generate',
              attributes: { ...LLM, ...TOKENS, 'llm.model_name': 'anthropic/claude-sonnet-5' },
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['weather_agent'],
};

/** A tool is known by the name of its span only. */
export const dspy: Program = {
  id: 'dspy',
  framework: 'DSPy with OpenInference',
  version: 'August 2026',
  source: 'github.com/Arize-ai/openinference, python/instrumentation/openinference-instrumentation-dspy/src',
  setUp: setUp('dspy', 'DSPyInstrumentor'),
  cannotKnow: [
    'There are no agents: a module is a chain.',
    'Tokens are not in the spans. LiteLLM’s instrumentation has them.',
    'No span names the MCP server of a tool.',
  ],
  scope: 'openinference.instrumentation.dspy',
  spans: [
    {
      name: 'ReAct.forward',
      attributes: { 'openinference.span.kind': 'CHAIN', 'input.value': CONTENT, 'output.value': CONTENT },
      inside: [
        {
          name: 'Predict(WeatherSignature).forward',
          attributes: { 'openinference.span.kind': 'CHAIN', 'input.value': CONTENT },
          inside: [
            {
              name: 'ChatAdapter.__call__',
              attributes: { 'openinference.span.kind': 'CHAIN', 'input.value': CONTENT },
              inside: [
                {
                  name: 'LM.__call__',
                  attributes: { ...LLM, 'llm.model_name': 'gpt-5-mini', 'llm.provider': 'openai' },
                },
              ],
            },
          ],
        },
        {
          name: 'get_weather.__call__',
          attributes: { 'openinference.span.kind': 'TOOL', 'input.value': CONTENT, 'output.value': CONTENT },
        },
        {
          name: 'echo.acall',
          attributes: { 'openinference.span.kind': 'TOOL', 'input.value': CONTENT },
          failed: true,
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 0, outputTokens: 0 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
};

/** A team and its members are agents. A workflow is a chain. */
export const agno: Program = {
  id: 'agno',
  framework: 'Agno with OpenInference',
  version: 'August 2026',
  source: 'github.com/Arize-ai/openinference, python/instrumentation/openinference-instrumentation-agno/src',
  setUp: setUp('agno', 'AgnoInstrumentor'),
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'openinference.instrumentation.agno',
  spans: [
    {
      name: 'news_team.run',
      attributes: {
        'openinference.span.kind': 'AGENT',
        'graph.node.id': '1f',
        'graph.node.name': 'news_team',
        'input.value': CONTENT,
        'session.id': 's1',
        'user.id': 'u1',
        'agno.tools': ['get_weather'],
      },
      inside: [
        {
          name: 'weather_agent.run',
          attributes: {
            'openinference.span.kind': 'AGENT',
            'graph.node.id': '2f',
            'graph.node.name': 'weather_agent',
            'graph.node.parent_id': '1f',
            'agent.name': 'weather_agent',
            'agno.agent.id': 'a1',
            'input.value': CONTENT,
            'output.value': CONTENT,
          },
          inside: [
            {
              name: 'OpenAIChat.invoke',
              attributes: { ...LLM, ...TOKENS, 'llm.model_name': 'gpt-5-mini', 'llm.provider': 'OpenAI' },
            },
            {
              name: 'get_weather',
              attributes: {
                'openinference.span.kind': 'TOOL',
                'tool.name': 'get_weather',
                'tool.description': CONTENT,
                'tool.parameters': CONTENT,
                'output.value': CONTENT,
              },
            },
            {
              name: 'OpenAIChat.invoke_stream',
              attributes: { ...LLM, ...TOKENS, 'llm.model_name': 'gpt-5-mini', 'llm.provider': 'OpenAI' },
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['news_team', 'weather_agent'],
};
