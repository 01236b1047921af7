import { CONTENT, type Program } from '../program.ts';

const AGENT = { 'gen_ai.agent.name': 'weather_agent' };

const chat = (inputTokens: bigint, outputTokens: bigint) => ({
  scope: 'opentelemetry.instrumentation.anthropic',
  name: 'anthropic.chat',
  kind: 'client' as const,
  attributes: {
    'llm.request.type': 'completion',
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.response.model': 'claude-sonnet-5',
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
  },
});

const completion = (inputTokens: bigint, outputTokens: bigint) => ({
  name: 'AnthropicCompletionTasks.request_completion_task',
  attributes: { arg_0: CONTENT },
  inside: [chat(inputTokens, outputTokens)],
});

/** The spans of a tool call: the model's, the agent's, and those of the MCP server if it has one. */
const toolCall = ({ name, server, failed = false }: { name: string; server?: string; failed?: boolean }) => {
  const written = server === undefined ? name : `${server}_${name}`;
  const request = {
    name: 'MCPAgentClientSession.send_request',
    kind: 'client' as const,
    attributes: {
      'mcp.session.id': 'unknown',
      result_type: "<class 'mcp.types.CallToolResult'>",
      'mcp.method.name': 'tools/call',
      'mcp.tool.name': name,
      'mcp.request.argument.city': CONTENT,
      'result.isError': failed,
      'result.content.0.text': CONTENT,
    },
  };
  const aggregator = {
    name: 'MCPAggregator.call_tool',
    attributes: {
      ...AGENT,
      'gen_ai.tool.name': written,
      'arguments.city': CONTENT,
      parsed_server_name: server ?? '',
      parsed_tool_name: name,
    },
    failed,
    inside: [request],
  };
  return {
    name: 'AnthropicAugmentedLLM.weather_agent.call_tool',
    attributes: {
      ...AGENT,
      'gen_ai.tool.call.id': `toolu_${written}`,
      'request.method': 'tools/call',
      'request.params.name': written,
      'request.params.arguments.city': CONTENT,
      'processed.request.gen_ai.tool.name': written,
      'result.isError': failed,
      'result.content.0.text': CONTENT,
    },
    inside: [
      {
        name: 'Agent.weather_agent.call_tool',
        attributes: { ...AGENT, 'gen_ai.tool.name': written, initialized: true, 'arguments.city': CONTENT },
        inside: server === undefined ? [] : [aggregator],
      },
    ],
  };
};

export const mcpAgent: Program = {
  id: 'mcp-agent',
  framework: 'mcp-agent',
  version: 'December 2025',
  source:
    'github.com/lastmile-ai/mcp-agent, src/mcp_agent/{agents/agent,mcp/mcp_aggregator,workflows/llm/augmented_llm_anthropic}.py',
  setUp: `\`\`\`yaml
# pip install 'mcp-agent[anthropic]'; in mcp_agent.config.yaml:
otel:
  enabled: true
  service_name: <service>
  exporters:
    - otlp: { endpoint: "<Quartermaster's URL>/v1/traces", headers: { x-api-key: <key> } }
\`\`\``,
  scope: 'mcp-agent',
  spans: [
    {
      name: 'MCPApp.run',
      inside: [
        {
          name: 'Agent.weather_agent.initialize',
          attributes: { ...AGENT, server_names: ['everything', 'other'], connection_persistence: true },
        },
        {
          name: 'AnthropicAugmentedLLM.weather_agent.generate_str',
          attributes: { ...AGENT, 'message.content': CONTENT, response: CONTENT },
          inside: [
            {
              name: 'AnthropicAugmentedLLM.weather_agent.generate',
              attributes: {
                ...AGENT,
                'message.content': CONTENT,
                'gen_ai.request.max_tokens': 2048n,
                'gen_ai.request.model': 'claude-sonnet-5',
                'gen_ai.usage.input_tokens': 42n,
                'gen_ai.usage.output_tokens': 16n,
                'response.0.id': 'msg_1',
                'response.0.model': 'claude-sonnet-5',
                'response.0.gen_ai.usage.input_tokens': 21n,
                'response.0.gen_ai.usage.output_tokens': 8n,
                'response.0.content.0.text': CONTENT,
              },
              inside: [
                {
                  name: 'Agent.weather_agent.list_tools',
                  attributes: { ...AGENT, initialized: true },
                  inside: [
                    {
                      name: 'MCPAgentClientSession.send_request',
                      kind: 'client',
                      attributes: { 'mcp.session.id': 'unknown', 'mcp.method.name': 'tools/list' },
                    },
                  ],
                },
                {
                  name: 'AnthropicAugmentedLLM.weather_agent.select_model',
                  attributes: { ...AGENT, model: 'claude-sonnet-5' },
                },
                completion(21n, 8n),
                toolCall({ name: 'get_weather' }),
                toolCall({ name: 'echo', server: 'everything' }),
                toolCall({ name: 'echo', server: 'other', failed: true }),
                completion(21n, 8n),
              ],
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'echo', server: 'other', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};

/** The client's span of a request, with the server's span inside it. */
const request = ({ target, failed = false }: { target: string; failed?: boolean }) => ({
  name: `MCP send tools/call ${target}`,
  kind: 'client' as const,
  attributes: { 'mcp.method.name': 'tools/call', 'jsonrpc.request.id': '2' },
  inside: [
    {
      name: `tools/call ${target}`,
      kind: 'server' as const,
      attributes: {
        'mcp.method.name': 'tools/call',
        'mcp.protocol.version': '2026-06-18',
        'jsonrpc.request.id': '2',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': target,
        ...(failed && { 'error.type': 'tool_error' }),
      },
      failed,
    },
  ],
});

export const mcpPython: Program = {
  id: 'mcp-python',
  framework: 'MCP SDK for Python (client and server)',
  version: 'August 2026',
  source:
    'github.com/modelcontextprotocol/python-sdk, src/mcp/{server,shared}/_otel.py and src/mcp/shared/jsonrpc_dispatcher.py',
  setUp: `\`\`\`sh
# pip install 'mcp>=2' opentelemetry-distro opentelemetry-exporter-otlp
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_SERVICE_NAME=<service>
opentelemetry-instrument python client.py
\`\`\``,
  cannotKnow: ['No span names the MCP server. It is known where one provider declares the tool.'],
  scope: 'mcp-python-sdk',
  spans: [
    { name: 'MCP send initialize', kind: 'client', attributes: { 'mcp.method.name': 'initialize' } },
    request({ target: 'echo' }),
    {
      scope: 'fastmcp',
      name: 'tools/call get-sum',
      kind: 'client',
      attributes: { 'mcp.method.name': 'tools/call', 'fastmcp.component.key': 'get-sum' },
      failed: true,
      inside: [request({ target: 'get-sum', failed: true })],
    },
    {
      // The server asks for an answer of the client's model.
      name: 'MCP send sampling/createMessage',
      kind: 'client',
      attributes: { 'mcp.method.name': 'sampling/createMessage', 'jsonrpc.request.id': '3' },
    },
  ],
  tools: [
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'get-sum', server: 'everything', calls: 1, failed: 1 },
  ],
};
