import { CONTENT, type Program } from '../program.ts';

const CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'server.address': 'api.openai.com',
  'server.port': 443n,
  'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
  'gen_ai.response.finish_reasons': ['stop'],
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.usage.reasoning.output_tokens': 3n,
  'gen_ai.usage.cache_read.input_tokens': 2n,
};

const MESSAGES = {
  'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: CONTENT }] }],
  'gen_ai.output.messages': [{ role: 'assistant', parts: [{ type: 'text', content: CONTENT }], finish_reason: 'stop' }],
  'gen_ai.system_instructions': [{ type: 'text', content: CONTENT }],
};

/** The event of an inference repeats its span. An event without a span is the only report of its call. */
export const opentelemetryGenaiEvents: Program = {
  id: 'opentelemetry-genai-events',
  framework: 'OpenTelemetry GenAI for Python, with events',
  version: 'August 2026',
  source: 'github.com/open-telemetry/opentelemetry-python-contrib, util/opentelemetry-util-genai',
  setUp: `\`\`\`sh
# pip install opentelemetry-distro opentelemetry-exporter-otlp opentelemetry-instrumentation-openai-v2
export OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_SERVICE_NAME=<service>
opentelemetry-instrument python agent.py
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'opentelemetry.instrumentation.openai_v2',
  spans: [
    {
      name: 'invoke_workflow weather_flow',
      attributes: { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.workflow.name': 'weather_flow' },
      inside: [
        {
          name: 'invoke_agent weather_agent',
          attributes: {
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.provider.name': 'openai',
            'gen_ai.agent.name': 'weather_agent',
            'gen_ai.agent.id': 'a1',
            'gen_ai.agent.description': CONTENT,
            'gen_ai.agent.version': '2',
            'gen_ai.request.model': 'gpt-5-mini',
            'gen_ai.usage.input_tokens': 42n,
            'gen_ai.usage.output_tokens': 16n,
            ...MESSAGES,
          },
          inside: [
            {
              name: 'plan weather_agent',
              attributes: {
                'gen_ai.operation.name': 'plan',
                'gen_ai.agent.name': 'weather_agent',
                'gen_ai.request.model': 'gpt-5-mini',
              },
              inside: [
                {
                  name: 'chat gpt-5-mini',
                  kind: 'client',
                  attributes: { ...CHAT, 'gen_ai.response.id': 'r1' },
                  logs: [
                    {
                      event: 'gen_ai.client.inference.operation.details',
                      attributes: { ...CHAT, ...MESSAGES, 'gen_ai.response.id': 'r1' },
                    },
                    {
                      event: 'gen_ai.evaluation.result',
                      attributes: {
                        'gen_ai.evaluation.name': 'relevance',
                        'gen_ai.evaluation.score.value': 0.9,
                        'gen_ai.evaluation.explanation': CONTENT,
                        'gen_ai.response.id': 'r1',
                        'gen_ai.request.model': 'gpt-5-judge',
                      },
                    },
                  ],
                },
              ],
            },
            {
              name: 'execute_tool get_weather',
              attributes: {
                'gen_ai.operation.name': 'execute_tool',
                'gen_ai.tool.name': 'get_weather',
                'gen_ai.tool.call.id': 'call_1',
                'gen_ai.tool.type': 'function',
                'gen_ai.tool.description': CONTENT,
                'gen_ai.tool.call.arguments': { city: CONTENT },
                'gen_ai.tool.call.result': { text: CONTENT },
              },
            },
            {
              name: 'search_memory',
              attributes: {
                'gen_ai.operation.name': 'search_memory',
                'gen_ai.memory.query.text': CONTENT,
                'gen_ai.memory.records': CONTENT,
              },
            },
            {
              name: 'retrieval docs',
              kind: 'client',
              attributes: {
                'gen_ai.operation.name': 'retrieval',
                'gen_ai.data_source.id': 'docs',
                'gen_ai.retrieval.query.text': CONTENT,
                'gen_ai.retrieval.documents': CONTENT,
              },
            },
            {
              name: 'chat gpt-5-mini',
              kind: 'client',
              attributes: { ...CHAT, 'gen_ai.response.id': 'r2' },
              logs: [
                {
                  event: 'gen_ai.client.inference.operation.details',
                  attributes: { ...CHAT, ...MESSAGES, 'gen_ai.response.id': 'r2' },
                },
              ],
            },
          ],
        },
      ],
    },
  ],
  logs: [
    {
      event: 'gen_ai.client.inference.operation.details',
      attributes: { ...CHAT, ...MESSAGES, 'gen_ai.response.id': 'r3' },
    },
    { event: 'gen_ai.client.operation.exception', attributes: { 'exception.message': CONTENT } },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 3, inputTokens: 63, outputTokens: 24 }],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['weather_flow', 'weather_agent'],
};

const DOTNET = {
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  'server.address': 'api.openai.com',
  'gen_ai.response.model': 'gpt-5-mini-2026-01-01',
};

/** The span of an agent has the kind of a client, and repeats model and tokens of the chats in it. */
export const agentFrameworkDotnet: Program = {
  id: 'agent-framework-dotnet',
  framework: 'Microsoft Agent Framework for .NET (Microsoft.Extensions.AI)',
  version: 'August 2026',
  source:
    'github.com/microsoft/agent-framework, dotnet/src/Microsoft.Agents.AI/OpenTelemetryAgent.cs, dotnet/src/Microsoft.Agents.AI.Workflows/Observability',
  setUp: `\`\`\`csharp
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
// OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
using var tracerProvider = Sdk.CreateTracerProviderBuilder()
    .AddSource("Experimental.Microsoft.*")
    .AddOtlpExporter()
    .Build();
AIAgent agent = chatClient.CreateAIAgent(name: "weather_agent").AsBuilder().UseOpenTelemetry().Build();
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'Experimental.Microsoft.Agents.AI',
  spans: [
    {
      scope: 'Microsoft.Agents.AI.Workflows',
      name: 'workflow_invoke',
      attributes: {
        'workflow.id': 'w1',
        'workflow.name': 'weather_flow',
        'workflow.description': CONTENT,
        'workflow.definition': CONTENT,
      },
      inside: [
        {
          scope: 'Microsoft.Agents.AI.Workflows',
          name: 'executor.process weather_agent',
          attributes: {
            'executor.id': 'weather_agent',
            'executor.type': 'AgentRunner',
            'executor.input': CONTENT,
            'executor.output': CONTENT,
            'message.type': 'ChatMessage',
          },
          inside: [
            {
              name: 'invoke_agent weather_agent(5f)',
              kind: 'client',
              attributes: {
                ...DOTNET,
                'gen_ai.operation.name': 'invoke_agent',
                'gen_ai.agent.id': '5f',
                'gen_ai.agent.name': 'weather_agent',
                'gen_ai.agent.description': CONTENT,
                'gen_ai.usage.input_tokens': 42n,
                'gen_ai.usage.output_tokens': 16n,
                'gen_ai.input.messages': CONTENT,
              },
              inside: [
                {
                  scope: 'Experimental.Microsoft.Extensions.AI',
                  name: 'chat gpt-5-mini',
                  kind: 'client',
                  attributes: {
                    ...DOTNET,
                    'gen_ai.operation.name': 'chat',
                    'gen_ai.response.id': 'r1',
                    'gen_ai.usage.input_tokens': 21n,
                    'gen_ai.usage.output_tokens': 8n,
                    'gen_ai.tool.definitions': CONTENT,
                  },
                },
                {
                  scope: 'Experimental.Microsoft.Extensions.AI',
                  name: 'execute_tool get_weather',
                  attributes: {
                    'gen_ai.operation.name': 'execute_tool',
                    'gen_ai.tool.name': 'get_weather',
                    'gen_ai.tool.call.id': 'call_1',
                    'gen_ai.tool.type': 'function',
                    'gen_ai.tool.description': CONTENT,
                    'gen_ai.tool.call.arguments': CONTENT,
                  },
                },
                {
                  scope: 'Experimental.Microsoft.Extensions.AI',
                  name: 'chat gpt-5-mini',
                  kind: 'client',
                  attributes: {
                    ...DOTNET,
                    'gen_ai.operation.name': 'chat',
                    'gen_ai.response.id': 'r2',
                    'gen_ai.usage.input_tokens': 21n,
                    'gen_ai.usage.output_tokens': 8n,
                  },
                },
              ],
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [{ name: 'get_weather', calls: 1 }],
  agents: ['weather_flow', 'weather_agent'],
};

/** The kind of a span stands in `gen_ai.span.kind`, and each kind has an operation of its own. */
export const loongsuite: Program = {
  id: 'loongsuite',
  framework: 'AgentScope and Dify with LoongSuite',
  version: 'April 2026',
  source:
    'github.com/alibaba/loongsuite-python-agent, util/opentelemetry-util-genai, instrumentation-loongsuite/loongsuite-instrumentation-{agentscope,dify}',
  setUp: `\`\`\`sh
# pip install loongsuite-distro && loongsuite-bootstrap -a install --latest
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_SERVICE_NAME=<service>
loongsuite-instrument python agent.py
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'opentelemetry.util.genai.handler',
  spans: [
    {
      name: 'enter_ai_application_system',
      attributes: {
        'gen_ai.span.kind': 'ENTRY',
        'gen_ai.operation.name': 'enter',
        'gen_ai.session.id': 's1',
        'gen_ai.user.id': CONTENT,
        'gen_ai.input.messages': CONTENT,
      },
      inside: [
        {
          name: 'invoke_agent weather_agent',
          attributes: {
            'gen_ai.span.kind': 'AGENT',
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.provider.name': 'dashscope',
            'gen_ai.agent.name': 'weather_agent',
            'gen_ai.agent.description': CONTENT,
            'gen_ai.request.model': 'qwen3-max',
            'gen_ai.usage.input_tokens': 21n,
            'gen_ai.usage.output_tokens': 8n,
          },
          inside: [
            {
              name: 'react step',
              attributes: { 'gen_ai.span.kind': 'STEP', 'gen_ai.operation.name': 'react', 'gen_ai.react.round': 1n },
              inside: [
                {
                  name: 'chat qwen3-max',
                  kind: 'client',
                  attributes: {
                    'gen_ai.span.kind': 'LLM',
                    'gen_ai.operation.name': 'chat',
                    'gen_ai.provider.name': 'dashscope',
                    'gen_ai.request.model': 'qwen3-max',
                    'gen_ai.usage.input_tokens': 21n,
                    'gen_ai.usage.output_tokens': 8n,
                    'gen_ai.input.messages_ref': CONTENT,
                  },
                },
                {
                  name: 'execute_tool echo',
                  attributes: {
                    'gen_ai.span.kind': 'TOOL',
                    'gen_ai.operation.name': 'execute_tool',
                    'gen_ai.tool.name': 'echo',
                    'gen_ai.tool.call.arguments': CONTENT,
                    'gen_ai.skill.name': 'weather',
                    'gen_ai.skill.description': CONTENT,
                  },
                  failed: true,
                },
                {
                  name: 'rerank_documents gte-rerank',
                  kind: 'client',
                  attributes: {
                    'gen_ai.span.kind': 'RERANKER',
                    'gen_ai.operation.name': 'rerank_documents',
                    'gen_ai.provider.name': 'dashscope',
                    'gen_ai.request.model': 'gte-rerank',
                    'gen_ai.rerank.input_documents': CONTENT,
                    'gen_ai.rerank.scoring_prompt': CONTENT,
                  },
                },
              ],
            },
          ],
        },
      ],
    },
    {
      name: 'workflow',
      attributes: { 'gen_ai.span.kind': 'CHAIN', 'input.value': CONTENT, 'output.value': CONTENT },
      inside: [
        {
          name: 'llm node',
          attributes: {
            'gen_ai.span.kind': 'LLM',
            'gen_ai.model_name': 'gpt-5-mini',
            'gen_ai.request.model_name': 'gpt-5-mini',
            'gen_ai.provider.name': 'langgenius/openai/openai',
            'gen_ai.usage.input_tokens': 5n,
            'gen_ai.usage.output_tokens': 2n,
            'input.value': CONTENT,
          },
        },
        {
          name: 'get_weather',
          attributes: { 'gen_ai.span.kind': 'TOOL', 'input.value': CONTENT, 'output.value': CONTENT },
        },
      ],
    },
  ],
  models: [
    { name: 'qwen3-max', vendor: 'alibaba_cloud', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'gte-rerank', vendor: 'alibaba_cloud', calls: 1, inputTokens: 0, outputTokens: 0 },
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 5, outputTokens: 2 },
  ],
  tools: [
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
    { name: 'get_weather', calls: 1 },
  ],
  agents: ['weather_agent'],
};
