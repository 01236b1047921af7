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

const CHAT_DOTNET = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.system': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'server.address': 'https://api.openai.com/v1/',
  'server.port': 443n,
  'gen_ai.response.finish_reason': '["Stop"]',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
};

const functionOfDotnet = (name: string) => ({
  scope: 'Microsoft.SemanticKernel',
  name: `execute_tool ${name}`,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.description': CONTENT,
    'gen_ai.tool.call.arguments': CONTENT,
    'gen_ai.tool.call.result': CONTENT,
  },
});

/** A prompt is a function as well. Without a name it has a new one in every run. */
export const semanticKernelDotnet: Program = {
  id: 'semantic-kernel-dotnet',
  framework: 'Semantic Kernel for .NET',
  version: 'August 2026',
  source:
    'github.com/microsoft/semantic-kernel, dotnet/src/InternalUtilities/src/Diagnostics/ModelDiagnostics.cs and dotnet/src/SemanticKernel.Abstractions/Functions/KernelFunction.cs',
  setUp: `\`\`\`csharp
// SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS=true
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
using var provider = Sdk.CreateTracerProviderBuilder().AddSource("Microsoft.SemanticKernel*").AddOtlpExporter().Build();
\`\`\``,
  cannotKnow: [
    'A function is named without its plugin, so no span names the MCP server of a tool.',
    'A prompt is a function. If it has no name, it is called InvokePromptAsync.',
  ],
  scope: 'Microsoft.SemanticKernel.Diagnostics',
  spans: [
    {
      name: 'invoke_agent weather_agent',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': 'a1',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.agent.description': CONTENT,
        'gen_ai.tool.definitions': CONTENT,
        'gen_ai.input.messages': CONTENT,
        'gen_ai.output.messages': CONTENT,
      },
      inside: [
        { name: 'chat gpt-5-mini', kind: 'client', attributes: { ...CHAT_DOTNET, 'gen_ai.response.id': 'r1' } },
        functionOfDotnet('get_weather'),
        {
          ...functionOfDotnet('echo'),
          attributes: { ...functionOfDotnet('echo').attributes, 'error.type': 'McpException' },
          failed: true,
        },
        { name: 'chat gpt-5-mini', kind: 'client', attributes: { ...CHAT_DOTNET, 'gen_ai.response.id': 'r2' } },
      ],
    },
    ...['0123456789abcdef0123456789abcdef', '123456789abcdef0123456789abcdef0'].map((id) => ({
      ...functionOfDotnet(`InvokePromptAsync_${id}`),
      inside: [
        {
          name: 'chat gpt-5-mini',
          kind: 'client' as const,
          attributes: { ...CHAT_DOTNET, 'gen_ai.response.id': `r-${id}` },
        },
      ],
    })),
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 4, inputTokens: 84, outputTokens: 32 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
    { name: 'InvokePromptAsync', calls: 2 },
  ],
  agents: ['weather_agent'],
};

const CHAT_JAVA = {
  'gen_ai.operation.name': 'chat.completions',
  'gen_ai.system': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'gen_ai.request.max_tokens': 256n,
};

const functionOfJava = (plugin: string, name: string) => ({
  name: `function_invocation ${plugin}-${name}`,
  attributes: {
    'semantic_kernel.function.invocation.name': name,
    'semantic_kernel.function.invocation.plugin_name': plugin,
  },
});

export const semanticKernelJava: Program = {
  id: 'semantic-kernel-java',
  framework: 'Semantic Kernel for Java',
  version: 'August 2026',
  source:
    'github.com/microsoft/semantic-kernel-java, semantickernel-api/src/main/java/com/microsoft/semantickernel/implementation/telemetry',
  setUp: `\`\`\`java
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
AutoConfiguredOpenTelemetrySdk.builder().setResultAsGlobal().build();
\`\`\``,
  cannotKnow: ['There are no agents.'],
  scope: 'SemanticKernel',
  spans: [
    {
      name: 'chat.completions gpt-5-mini',
      kind: 'client',
      attributes: { ...CHAT_JAVA, 'gen_ai.usage.input_tokens': 21n, 'gen_ai.usage.output_tokens': 8n },
    },
    functionOfJava('weather', 'get_weather'),
    {
      ...functionOfJava('weather', 'get_forecast'),
      events: [{ name: 'exception', attributes: { 'exception.message': CONTENT } }],
      failed: true,
    },
    { name: 'chat.completions gpt-5-mini', kind: 'client', attributes: CHAT_JAVA, failed: true },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'get_forecast', calls: 1, failed: 1 },
  ],
};
