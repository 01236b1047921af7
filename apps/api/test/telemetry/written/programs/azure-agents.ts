import { CONTENT, type Program } from '../program.ts';

const AGENTS = {
  'az.namespace': 'Microsoft.CognitiveServices',
  'gen_ai.system': 'az.ai.agents',
  'server.address': 'weather.services.ai.azure.com',
};

const EVENT = { attributes: { 'gen_ai.system': 'az.ai.agents', 'gen_ai.event.content': CONTENT } };

const run = (operation: string, status: string, attributes: Record<string, bigint> = {}) => ({
  name: operation,
  kind: 'client' as const,
  attributes: {
    ...AGENTS,
    'gen_ai.operation.name': operation,
    'gen_ai.thread.id': 'thread_1',
    'gen_ai.agent.id': 'asst_1',
    'gen_ai.thread.run.id': 'run_1',
    'gen_ai.thread.run.status': status,
    'gen_ai.response.model': 'gpt-5-mini',
    ...attributes,
  },
});

/** A program asks for the state of a run until it is finished. */
export const azureAgents: Program = {
  id: 'azure-agents',
  framework: 'Azure AI Agents for Python',
  version: 'commit 98e3ef7',
  source: 'github.com/Azure/azure-sdk-for-python, sdk/ai/azure-ai-agents/azure/ai/agents/telemetry',
  setUp: `\`\`\`python
# pip install azure-ai-agents opentelemetry-exporter-otlp-proto-http azure-core-tracing-opentelemetry
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from azure.ai.agents.telemetry import AIAgentsInstrumentor
from azure.core.settings import settings
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

settings.tracing_implementation = "opentelemetry"
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
AIAgentsInstrumentor().instrument()
\`\`\``,
  cannotKnow: [
    'A run counts as one call of the model, and a run that fails as none.',
    'Tools that the service runs, such as those of MCP servers, have no spans.',
  ],
  scope: 'azure.core.tracing.ext.opentelemetry_span',
  spans: [
    {
      name: 'create_agent weather_agent',
      kind: 'client',
      attributes: {
        ...AGENTS,
        'gen_ai.operation.name': 'create_agent',
        'gen_ai.request.model': 'gpt-5-mini',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.agent.id': 'asst_1',
      },
      events: [{ name: 'gen_ai.system.message', ...EVENT }],
    },
    {
      name: 'create_message',
      kind: 'client',
      attributes: { ...AGENTS, 'gen_ai.operation.name': 'create_message', 'gen_ai.thread.id': 'thread_1' },
      events: [{ name: 'gen_ai.user.message', ...EVENT }],
    },
    run('start_thread_run', 'queued'),
    run('get_thread_run', 'in_progress'),
    run('get_thread_run', 'requires_action'),
    {
      name: 'execute_tool get_weather',
      attributes: {
        ...AGENTS,
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'get_weather',
        'gen_ai.tool.call.id': 'call_1',
      },
    },
    { ...run('submit_tool_outputs', 'queued'), events: [{ name: 'gen_ai.tool.message', ...EVENT }] },
    run('get_thread_run', 'completed', { 'gen_ai.usage.input_tokens': 21n, 'gen_ai.usage.output_tokens': 8n }),
    {
      name: 'list_messages',
      kind: 'client',
      attributes: { ...AGENTS, 'gen_ai.operation.name': 'list_messages', 'gen_ai.thread.id': 'thread_1' },
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'azure.ai.inference', calls: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['weather_agent'],
};
