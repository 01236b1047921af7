import { CONTENT, type Program } from '../program.ts';

const IN_SESSION = { 'gen_ai.conversation.id': 'session-1' };

const CLAUDE = {
  ...IN_SESSION,
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'anthropic',
  'gen_ai.request.model': 'claude-sonnet-5',
  'gen_ai.input.messages': CONTENT,
  'gen_ai.tool.definitions': CONTENT,
};

function tool(name: string) {
  return {
    ...IN_SESSION,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.call.id': `call_${name}`,
    'gen_ai.tool.name': name,
    'gen_ai.tool.description': CONTENT,
    'gen_ai.tool.call.arguments': CONTENT,
  };
}

/** Input tokens are those of the vendor's API: only OpenAI's include cached ones. */
export const agentscope: Program = {
  id: 'agentscope',
  framework: 'AgentScope',
  version: 'August 2026',
  source: 'github.com/agentscope-ai/agentscope, src/agentscope/middleware/_tracing/{_trace,_extractor}.py',
  setUp: `\`\`\`python
# pip install agentscope opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from agentscope.middleware import TracingMiddleware
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
agent = Agent(..., middlewares=[TracingMiddleware()])
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'agentscope',
  spans: [
    {
      name: 'invoke_agent weather_agent',
      attributes: {
        ...IN_SESSION,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': '0199c0de-0000-7000-8000-000000000001',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.agent.description': CONTENT,
        'gen_ai.input.messages': CONTENT,
        'gen_ai.output.messages': CONTENT,
        'agentscope.agent.reply_id': 'reply-1',
        'agentscope.agent.external_execution_pending_tools': '["deploy"]',
      },
      inside: [
        {
          name: 'chat claude-sonnet-5',
          attributes: {
            ...CLAUDE,
            'gen_ai.response.id': 'msg_1',
            'gen_ai.response.finish_reasons': '["stop"]',
            'gen_ai.usage.input_tokens': 12n,
            'gen_ai.usage.output_tokens': 8n,
            'agentscope.usage.cache_input_tokens': 5n,
            'agentscope.usage.cache_creation_input_tokens': 4n,
            'gen_ai.output.messages': CONTENT,
          },
        },
        {
          name: 'execute_tool get_weather',
          attributes: { ...tool('get_weather'), 'gen_ai.tool.call.result': CONTENT },
        },
        {
          name: 'chat claude-sonnet-5',
          attributes: CLAUDE,
          events: [{ name: 'exception', attributes: { 'exception.message': CONTENT } }],
          failed: true,
        },
        {
          name: 'chat gpt-5-mini',
          attributes: {
            ...CLAUDE,
            'gen_ai.provider.name': 'openai',
            'gen_ai.request.model': 'gpt-5-mini',
            'gen_ai.usage.input_tokens': 21n,
            'gen_ai.usage.output_tokens': 8n,
            'agentscope.usage.cache_input_tokens': 5n,
          },
        },
      ],
    },
    {
      name: 'invoke_agent weather_agent',
      attributes: {
        ...IN_SESSION,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'weather_agent',
        'agentscope.agent.incoming_event_type': 'external_execution_result',
      },
      // The program ran the tool, and told the agent its result.
      inside: [
        {
          name: 'execute_tool deploy',
          attributes: { ...tool('deploy'), 'agentscope.agent.is_external_execution': true },
        },
      ],
    },
  ],
  models: [
    { name: 'claude-sonnet-5', vendor: 'anthropic', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
  ],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'deploy', calls: 1 },
  ],
  agents: ['weather_agent'],
};
