import { CONTENT, type Program } from '../program.ts';

type Spans = NonNullable<Program['spans']>;

const IDS = { 'gen_ai.conversation.id': 'thread-1', 'gen_ai.request.choice.count': 1n };

const TOKENS = {
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.usage.reasoning.output_tokens': 2n,
};

const chat = {
  name: 'chat gpt-5-mini',
  attributes: {
    ...IDS,
    ...TOKENS,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'azure.ai.foundry',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.response.id': 'resp_1',
    'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
    'gen_ai.response.finish_reasons': '["stop"]',
    'server.address': 'https://weather.services.ai.azure.com',
    'gen_ai.input.messages': CONTENT,
    'gen_ai.output.messages': CONTENT,
    'gen_ai.system_instructions': CONTENT,
    'gen_ai.tool.definitions': CONTENT,
  },
};

const agent = (name: string, inside: Spans) => ({
  name: `invoke_agent ${name}`,
  attributes: {
    ...IDS,
    ...TOKENS,
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'microsoft.agent_framework',
    'gen_ai.agent.id': '6a1f0c2e-0000-4000-8000-000000000000',
    'gen_ai.agent.name': name,
    'gen_ai.agent.description': CONTENT,
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.tool.definitions': CONTENT,
    'gen_ai.input.messages': CONTENT,
    'gen_ai.output.messages': CONTENT,
  },
  inside,
});

const tool = (name: string, inside: Spans = []) => ({
  name: `execute_tool ${name}`,
  attributes: {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': `call_${name}`,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.description': CONTENT,
    'gen_ai.tool.call.arguments': CONTENT,
    'gen_ai.tool.call.result': CONTENT,
  },
  inside,
});

const executor = (id: string, inside: Spans) => ({
  name: `executor.process ${id}`,
  attributes: {
    'executor.id': id,
    'executor.type': 'AgentExecutor',
    'message.type': 'standard',
    'message.payload_type': 'AgentExecutorRequest',
  },
  inside,
});

/** A call of an MCP tool has two spans: that of the function, and that of the client. The client's names the host of the server. */
export const agentFrameworkPython: Program = {
  id: 'agent-framework-python',
  framework: 'Microsoft Agent Framework for Python',
  version: 'August 2026',
  source: 'github.com/microsoft/agent-framework, python/packages/core/agent_framework (observability.py, _mcp.py)',
  setUp: `\`\`\`python
# pip install agent-framework opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL>
# OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from agent_framework.observability import configure_otel_providers

configure_otel_providers()
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool, except by its host.'],
  scope: 'agent_framework',
  spans: [
    {
      name: 'workflow.build',
      attributes: { 'workflow_builder.name': 'forecast', 'workflow.id': 'w1', 'workflow.definition': CONTENT },
      events: [{ name: 'build.completed', attributes: {} }],
    },
    {
      name: 'workflow.run',
      attributes: { 'workflow.id': 'w1', 'workflow.name': 'forecast', 'workflow.description': CONTENT },
      inside: [
        { name: 'tools/list', kind: 'client', attributes: { 'mcp.method.name': 'tools/list' } },
        executor('weather', [
          {
            name: 'edge_group.process SingleEdgeGroup',
            attributes: { 'edge_group.type': 'SingleEdgeGroup', 'edge_group.id': 'e1', 'message.source_id': 'weather' },
          },
          agent('weather_agent', [
            chat,
            { ...tool('get_weather'), failed: true },
            tool('echo', [
              {
                name: 'tools/call echo',
                kind: 'client',
                attributes: {
                  'mcp.method.name': 'tools/call',
                  'gen_ai.operation.name': 'execute_tool',
                  'gen_ai.tool.name': 'echo',
                  'network.transport': 'pipe',
                },
              },
            ]),
            tool('expert', [agent('expert', [chat])]),
            chat,
          ]),
          { name: 'message.send', attributes: { 'message.type': 'standard', 'message.destination_executor_id': 'x' } },
        ]),
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'azure.ai.inference', calls: 3, inputTokens: 63, outputTokens: 24 }],
  tools: [
    { name: 'get_weather', calls: 1, failed: 1 },
    { name: 'expert', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
  ],
  agents: ['forecast', 'weather_agent', 'expert'],
};
