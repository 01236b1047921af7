import { CONTENT, type Program } from '../program.ts';

const MODEL = { 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5-mini' };

const CHAT = {
  ...MODEL,
  'ag2.span.type': 'llm',
  'gen_ai.operation.name': 'chat',
  'gen_ai.agent.name': 'weather_agent',
  'gen_ai.input.messages': CONTENT,
  'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.response.finish_reasons': '["stop"]',
  'gen_ai.usage.cost': 0.0001,
  'gen_ai.output.messages': CONTENT,
};

const AGENT = {
  ...MODEL,
  'ag2.span.type': 'agent',
  'gen_ai.operation.name': 'invoke_agent',
  'gen_ai.agent.name': 'weather_agent',
  'gen_ai.input.messages': CONTENT,
};

const TOOL = {
  'ag2.span.type': 'tool',
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.type': 'function',
  'gen_ai.tool.call.arguments': CONTENT,
};

/** The span of a conversation repeats the model and the sum of the tokens, also if it has one call only. */
export const ag2: Program = {
  id: 'ag2',
  framework: 'AG2',
  version: '2026',
  source: 'github.com/ag2ai/ag2, autogen/opentelemetry/instrumentators',
  setUp: `\`\`\`python
# pip install ag2[openai,tracing]
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from autogen.opentelemetry import instrument_agent, instrument_llm_wrapper
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
instrument_llm_wrapper(tracer_provider=provider)
instrument_agent(weather_agent, tracer_provider=provider)
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'opentelemetry.instrumentation.ag2',
  spans: [
    {
      name: 'conversation user',
      attributes: {
        ...MODEL,
        'ag2.span.type': 'conversation',
        'gen_ai.operation.name': 'conversation',
        'gen_ai.agent.name': 'user',
        'gen_ai.conversation.id': '1',
        'gen_ai.conversation.turns': 2n,
        'gen_ai.input.messages': CONTENT,
        'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
        'gen_ai.usage.input_tokens': 42n,
        'gen_ai.usage.output_tokens': 16n,
      },
      inside: [
        {
          name: 'invoke_agent weather_agent',
          attributes: AGENT,
          inside: [
            { name: 'chat gpt-5-mini', kind: 'client', attributes: CHAT },
            {
              name: 'execute_tool get_weather',
              attributes: { ...TOOL, 'gen_ai.tool.name': 'get_weather', 'gen_ai.tool.call.id': 'call_1' },
            },
            {
              name: 'execute_tool echo',
              attributes: {
                ...TOOL,
                'gen_ai.tool.name': 'echo',
                'gen_ai.tool.call.id': 'call_2',
                'error.type': 'ExecutionError',
              },
            },
          ],
        },
        {
          name: 'invoke_agent weather_agent',
          attributes: AGENT,
          inside: [{ name: 'chat gpt-5-mini', kind: 'client', attributes: CHAT }],
        },
      ],
    },
    {
      name: 'conversation user',
      attributes: {
        'ag2.span.type': 'conversation',
        'gen_ai.operation.name': 'conversation',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-5-nano',
        'gen_ai.usage.input_tokens': 5n,
        'gen_ai.usage.output_tokens': 2n,
      },
      inside: [
        {
          name: 'invoke_agent news_agent',
          attributes: { ...AGENT, 'gen_ai.agent.name': 'news_agent', 'gen_ai.request.model': 'gpt-5-nano' },
          inside: [
            {
              name: 'chat gpt-5-nano',
              kind: 'client',
              attributes: {
                'gen_ai.operation.name': 'chat',
                'gen_ai.provider.name': 'openai',
                'gen_ai.request.model': 'gpt-5-nano',
                'gen_ai.usage.input_tokens': 5n,
                'gen_ai.usage.output_tokens': 2n,
              },
            },
          ],
        },
      ],
    },
    {
      name: 'initiate_chats',
      attributes: {
        'ag2.span.type': 'multi_conversation',
        'gen_ai.operation.name': 'initiate_chats',
        'ag2.chats.recipients': CONTENT,
        'ag2.chats.summaries': CONTENT,
      },
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 },
    { name: 'gpt-5-nano', vendor: 'openai', calls: 1, inputTokens: 5, outputTokens: 2 },
  ],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent', 'news_agent'],
};
