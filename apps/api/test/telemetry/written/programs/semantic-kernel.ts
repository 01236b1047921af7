import { CONTENT, type Program } from '../program.ts';

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.system': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'server.address': 'https://api.openai.com/v1/',
  'gen_ai.response.finish_reason': 'FinishReason.STOP',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
};

/** Messages are log records. A function is named by its plugin and its own name. */
export const semanticKernel: Program = {
  id: 'semantic-kernel',
  framework: 'Semantic Kernel for Python',
  version: 'August 2026',
  source: 'github.com/microsoft/semantic-kernel, python/semantic_kernel/utils/telemetry',
  setUp: `\`\`\`python
# pip install semantic-kernel opentelemetry-exporter-otlp-proto-http
# SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS=true
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import set_tracer_provider

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
set_tracer_provider(provider)
\`\`\``,
  cannotKnow: [
    'A function is named by its plugin and its own name: weather-get_weather. The plugin of an MCP server has the name that the program chose.',
  ],
  scope: 'semantic_kernel.utils.telemetry.model_diagnostics.decorators',
  spans: [
    {
      scope: 'semantic_kernel.utils.telemetry.agent_diagnostics.decorators',
      name: 'invoke_agent weather_agent',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': 'a1',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.agent.description': CONTENT,
        'gen_ai.input.messages': CONTENT,
        'gen_ai.tool.definitions': CONTENT,
      },
      inside: [
        {
          scope: 'semantic_kernel.connectors.ai.chat_completion_client_base',
          name: 'AutoFunctionInvocationLoop',
          attributes: { 'sk.available_functions': CONTENT },
          inside: [
            {
              name: 'chat gpt-5-mini',
              attributes: { ...CHAT, 'gen_ai.response.id': 'r1' },
              logs: [
                {
                  event: 'gen_ai.user.message',
                  attributes: { 'event.name': 'gen_ai.user.message', 'gen_ai.system': 'openai' },
                },
                { event: 'gen_ai.choice', attributes: { 'event.name': 'gen_ai.choice', 'gen_ai.system': 'openai' } },
              ],
            },
            {
              scope: 'semantic_kernel.functions.kernel_function',
              name: 'execute_tool weather-get_weather',
              attributes: {
                'gen_ai.operation.name': 'execute_tool',
                'gen_ai.tool.name': 'weather-get_weather',
                'gen_ai.tool.call.id': 'call_1',
                'gen_ai.tool.description': CONTENT,
                'gen_ai.tool.call.arguments': CONTENT,
              },
            },
            {
              scope: 'semantic_kernel.functions.kernel_function',
              name: 'execute_tool everything-echo',
              attributes: {
                'gen_ai.operation.name': 'execute_tool',
                'gen_ai.tool.name': 'everything-echo',
                'gen_ai.tool.call.id': 'call_2',
                'error.type': 'KernelInvokeException',
              },
              failed: true,
            },
            { name: 'chat gpt-5-mini', attributes: { ...CHAT, 'gen_ai.response.id': 'r2' } },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'weather-get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};
