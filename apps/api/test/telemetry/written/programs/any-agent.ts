import { CONTENT, type Program } from '../program.ts';

function chat(model: string) {
  return {
    'gen_ai.operation.name': 'call_llm',
    'gen_ai.request.model': model,
    'gen_ai.input.messages': CONTENT,
    'gen_ai.output': CONTENT,
    'gen_ai.output.type': 'json',
    'gen_ai.usage.input_tokens': 21n,
    'gen_ai.usage.output_tokens': 8n,
  };
}

/** All frameworks that any-agent runs have the same spans. The model is written as any-llm names it: `<vendor>:<model>`. */
export const anyAgent: Program = {
  id: 'any-agent',
  framework: "Mozilla's any-agent",
  version: '2026-04-30',
  source:
    'github.com/mozilla-ai/any-agent, src/any_agent/frameworks/any_agent.py, and github.com/mozilla-ai/tinyagent, src/tinyagent/callbacks/span_generation.py',
  setUp: `\`\`\`python
# pip install any-agent opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'any_agent',
  spans: [
    {
      name: 'invoke_agent [weather_agent]',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.agent.description': CONTENT,
        'gen_ai.request.model': 'mistral:mistral-small-latest',
        'any_agent.version': '1.9.0',
      },
      inside: [
        { name: 'call_llm mistral:mistral-small-latest', attributes: chat('mistral:mistral-small-latest') },
        {
          name: 'execute_tool get_weather',
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': 'get_weather',
            'gen_ai.tool.description': CONTENT,
            'gen_ai.tool.args': CONTENT,
            'gen_ai.tool.call.id': 'call_1',
            'gen_ai.output': CONTENT,
            'gen_ai.output.type': 'text',
          },
        },
        {
          name: 'execute_tool echo',
          attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'echo', 'gen_ai.output': CONTENT },
          failed: true,
        },
        { name: 'call_llm openai:gpt-5-mini', attributes: chat('openai:gpt-5-mini') },
      ],
    },
  ],
  models: [
    { name: 'mistral-small-latest', vendor: 'mistral_ai', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
  ],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};
