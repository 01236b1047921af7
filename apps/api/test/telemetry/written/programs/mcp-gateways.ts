import { CONTENT, type Program } from '../program.ts';

/** The gateway calls models and MCP servers for its clients. A tool has the name of its server in front. */
export const envoyAiGateway: Program = {
  id: 'envoy-ai-gateway',
  framework: 'Envoy AI Gateway',
  version: 'August 2026',
  source: 'github.com/envoyproxy/ai-gateway, internal/tracing/{mcp_otel,mcp_legacy}.go, internal/tracing/openinference',
  setUp: `\`\`\`yaml
# Helm values of envoyproxy/ai-gateway-helm
extProc:
  extraEnvVars:
    - { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: "<Quartermaster's URL>" }
    - { name: OTEL_EXPORTER_OTLP_HEADERS, value: "x-api-key=<key>" }
    - { name: OTEL_SERVICE_NAME, value: "<service>" }
\`\`\``,
  cannotKnow: ['The gateway does not know agents.'],
  scope: 'envoyproxy/ai-gateway',
  spans: [
    {
      name: 'ChatCompletion',
      attributes: {
        'openinference.span.kind': 'LLM',
        'llm.system': 'openai',
        'llm.model_name': 'gpt-5-mini',
        'input.value': CONTENT,
        'output.value': CONTENT,
        'llm.invocation_parameters': CONTENT,
        'llm.input_messages.0.message.content': CONTENT,
        'llm.token_count.prompt': 21n,
        'llm.token_count.completion': 8n,
        'llm.token_count.prompt_details.cache_read': 3n,
      },
    },
    {
      name: 'CreateEmbeddings',
      attributes: {
        'openinference.span.kind': 'EMBEDDING',
        'llm.system': 'openai',
        'embedding.model_name': 'text-embedding-3-small',
        'embedding.embeddings.0.embedding.text': CONTENT,
        'llm.token_count.prompt': 4n,
      },
    },
    {
      name: 'Rerank',
      attributes: {
        'openinference.span.kind': 'RERANKER',
        'reranker.model_name': 'rerank-v3.5',
        'llm.system': 'cohere',
        'reranker.query': CONTENT,
        'reranker.input_documents.0.document.content': CONTENT,
      },
    },
    {
      name: 'tools/call everything__echo',
      kind: 'client',
      attributes: {
        'mcp.protocol.version': '2025-06-18',
        'mcp.method.name': 'tools/call',
        'jsonrpc.request.id': '3',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'everything__echo',
        'gen_ai.tool.call.arguments': CONTENT,
        'gen_ai.tool.call.result': CONTENT,
      },
      events: [
        {
          name: 'route to backend',
          attributes: { 'mcp.backend.name': 'everything', 'mcp.session.id': 's', 'mcp.session.new': true },
        },
      ],
    },
    {
      name: 'CallTool',
      kind: 'client',
      attributes: {
        'mcp.protocol.version': '2025-06-18',
        'mcp.transport': 'http',
        'mcp.request.id': '4',
        'mcp.method.name': 'tools/call',
        'mcp.tool.name': 'everything__get-sum',
      },
      events: [
        {
          name: 'route to backend',
          attributes: { 'mcp.backend.name': 'everything', 'mcp.session.id': 's', 'mcp.session.new': false },
        },
        { name: 'exception', attributes: { 'exception.message': CONTENT } },
      ],
      failed: true,
    },
    {
      name: 'tools/list',
      kind: 'client',
      attributes: { 'mcp.method.name': 'tools/list', 'mcp.tools.count': 2n },
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, inputTokens: 4, outputTokens: 0 },
    { name: 'rerank-v3.5', vendor: 'cohere', calls: 1, inputTokens: 0, outputTokens: 0 },
  ],
  tools: [
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'get-sum', server: 'everything', calls: 1, failed: 1 },
  ],
};

/** A client's span names the tool only in its own name. The server's span names the server. */
export const fastmcp: Program = {
  id: 'fastmcp',
  framework: 'FastMCP (client and server)',
  version: 'February 2026',
  source: 'github.com/jlowin/fastmcp, src/fastmcp/{client,server}/telemetry.py',
  setUp: `\`\`\`sh
# pip install opentelemetry-distro opentelemetry-exporter-otlp
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_SERVICE_NAME=<service>
opentelemetry-instrument python client.py
\`\`\``,
  scope: 'fastmcp',
  spans: [
    {
      name: 'tools/call echo',
      kind: 'client',
      attributes: {
        'rpc.system': 'mcp',
        'rpc.method': 'tools/call',
        'mcp.method.name': 'tools/call',
        'fastmcp.component.key': 'echo',
        'mcp.session.id': 's',
      },
      inside: [
        {
          name: 'tools/call echo',
          kind: 'server',
          attributes: {
            'rpc.system': 'mcp',
            'rpc.service': 'everything',
            'rpc.method': 'tools/call',
            'mcp.method.name': 'tools/call',
            'fastmcp.server.name': 'everything',
            'fastmcp.component.type': 'tool',
            'fastmcp.component.key': 'tool:echo@',
            'enduser.id': CONTENT,
            'enduser.scope': CONTENT,
          },
          inside: [
            {
              name: 'delegate echo',
              attributes: { 'fastmcp.provider.type': 'LocalProvider', 'fastmcp.component.key': 'echo' },
            },
          ],
        },
      ],
    },
    {
      name: 'tools/call get-sum',
      kind: 'client',
      attributes: {
        'rpc.system': 'mcp',
        'rpc.method': 'tools/call',
        'mcp.method.name': 'tools/call',
        'fastmcp.component.key': 'get-sum',
      },
      events: [{ name: 'exception', attributes: { 'exception.message': CONTENT } }],
      failed: true,
    },
  ],
  tools: [
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'get-sum', server: 'everything', calls: 1, failed: 1 },
  ],
};

export const mcpCsharp: Program = {
  id: 'mcp-csharp',
  framework: 'MCP SDK for C# (client and server)',
  version: 'August 2026',
  source: 'github.com/modelcontextprotocol/csharp-sdk, src/ModelContextProtocol.Core/McpSessionHandler.cs',
  setUp: `\`\`\`csharp
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
// OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
using var tracerProvider = Sdk.CreateTracerProviderBuilder()
    .AddSource("Experimental.ModelContextProtocol")
    .AddOtlpExporter()
    .Build();
\`\`\``,
  cannotKnow: ['No span names the MCP server.'],
  scope: 'Experimental.ModelContextProtocol',
  spans: [
    {
      name: 'initialize',
      kind: 'client',
      attributes: { 'mcp.method.name': 'initialize', 'mcp.protocol.version': '2025-11-25', 'mcp.session.id': 's' },
    },
    {
      name: 'tools/call echo',
      kind: 'client',
      attributes: {
        'mcp.method.name': 'tools/call',
        'network.transport': 'tcp',
        'network.protocol.name': 'http',
        'mcp.session.id': 's',
        'jsonrpc.request.id': '2',
        'gen_ai.tool.name': 'echo',
        'gen_ai.operation.name': 'execute_tool',
      },
      inside: [
        {
          name: 'tools/call echo',
          kind: 'server',
          attributes: {
            'mcp.method.name': 'tools/call',
            'gen_ai.tool.name': 'echo',
            'gen_ai.operation.name': 'execute_tool',
            'error.type': 'tool_error',
          },
          failed: true,
        },
      ],
    },
    {
      name: 'resources/read',
      kind: 'client',
      attributes: { 'mcp.method.name': 'resources/list' },
    },
  ],
  tools: [{ name: 'echo', server: 'everything', calls: 1, failed: 0 }],
};

const OUTBOUND = { 'agentgateway.outbound.kind': 'primary', 'agentgateway.outbound.subtype': 'mcp' };

/** The span of a request has everything that the gateway knows of it. A target is an MCP server of its settings. */
export const agentgateway: Program = {
  id: 'agentgateway',
  framework: 'agentgateway',
  version: 'August 2026',
  source: 'github.com/agentgateway/agentgateway, crates/agentgateway/src (telemetry/log.rs, mcp/upstream/mod.rs)',
  setUp: `\`\`\`yaml
# config.yaml. gRPC: port 4317 of Quartermaster
config:
  tracing:
    otlpEndpoint: http://<Quartermaster's host>:4317
    headers: { x-api-key: <key> }
\`\`\``,
  cannotKnow: ['The gateway does not know agents.'],
  scope: 'agentgateway',
  spans: [
    {
      name: 'POST /v1/chat/completions',
      kind: 'server',
      attributes: {
        'http.method': 'POST',
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-5-mini',
        'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
        'gen_ai.usage.input_tokens': 21n,
        'gen_ai.usage.output_tokens': 8n,
        'gen_ai.usage.reasoning_tokens': 2n,
        'gen_ai.prompt': CONTENT,
      },
      inside: [
        {
          name: 'llm',
          kind: 'client',
          attributes: { 'agentgateway.outbound.kind': 'primary', 'agentgateway.outbound.subtype': 'llm' },
        },
      ],
    },
    {
      name: 'tools/call',
      kind: 'server',
      attributes: {
        'mcp.method.name': 'tools/call',
        'mcp.target': 'everything',
        'mcp.resource.type': 'tool',
        'gen_ai.tool.name': 'echo',
        'mcp.session.id': 'session-1',
      },
      inside: [
        {
          name: 'tools/call everything_echo',
          kind: 'client',
          attributes: {
            ...OUTBOUND,
            'mcp.target': 'everything',
            'mcp.method.name': 'tools/call',
            'gen_ai.tool.name': 'echo',
          },
        },
      ],
    },
    {
      name: 'tools/list',
      kind: 'server',
      attributes: { 'mcp.method.name': 'tools/list' },
      inside: [
        {
          name: 'tools/list everything',
          kind: 'client',
          attributes: { ...OUTBOUND, 'mcp.target': 'everything', 'mcp.method.name': 'tools/list' },
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [{ name: 'echo', server: 'everything', calls: 1 }],
};

const FORGED = {
  'user.email': CONTENT,
  'langfuse.trace.name': CONTENT,
  'langfuse.observation.level': 'DEFAULT',
  'langfuse.observation.input': CONTENT,
};

const toolOfForge = (name: string, type: string) => {
  return { ...FORGED, 'tool.name': name, 'tool.id': '4f', 'tool.integration_type': type };
};

const requestOfForge = {
  ...FORGED,
  'mcp.tool.name': 'echo',
  'contextforge.tool.id': '4f',
  'contextforge.gateway_id': '7a',
  'contextforge.runtime': 'python',
};

/** Each step of a call has a span that names the tool again. Its MCP server has another name for the tool. */
export const contextforge: Program = {
  id: 'contextforge',
  framework: 'ContextForge',
  version: 'August 2026',
  source:
    'github.com/IBM/mcp-context-forge, mcpgateway/services/{tool,a2a,llm_proxy}_service.py, mcpgateway/observability.py',
  setUp: `\`\`\`sh
OTEL_ENABLE_OBSERVABILITY=true
OTEL_TRACES_EXPORTER=otlp
OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL>
OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
OTEL_SERVICE_NAME=<service>
\`\`\``,
  cannotKnow: ['An MCP server is known by its address only.'],
  scope: 'mcp-gateway',
  spans: [
    { name: 'tool.list', attributes: { ...FORGED, include_inactive: false } },
    {
      name: 'tool.invoke',
      attributes: toolOfForge('everything-echo', 'MCP'),
      inside: [
        { name: 'tool.lookup', attributes: toolOfForge('everything-echo', 'MCP') },
        {
          name: 'tool.gateway_call',
          attributes: toolOfForge('everything-echo', 'MCP'),
          inside: [
            {
              name: 'mcp.client.call',
              attributes: { ...requestOfForge, 'server.address': 'everything', 'url.full': 'http://everything/mcp' },
              inside: [
                { name: 'mcp.client.initialize', attributes: FORGED },
                { name: 'mcp.client.request', attributes: requestOfForge },
                { name: 'mcp.client.response', attributes: { ...requestOfForge, 'upstream.response.success': true } },
              ],
            },
          ],
        },
        { name: 'tool.post_process', attributes: toolOfForge('everything-echo', 'MCP') },
      ],
    },
    {
      name: 'tool.invoke',
      attributes: toolOfForge('get_weather', 'REST'),
      failed: true,
      inside: [
        { name: 'tool.lookup', attributes: toolOfForge('get_weather', 'REST') },
        { name: 'tool.gateway_call', attributes: toolOfForge('get_weather', 'REST') },
      ],
    },
    {
      name: 'tool.invoke',
      attributes: toolOfForge('a2a_news', 'A2A'),
      inside: [
        {
          name: 'tool.gateway_call',
          attributes: toolOfForge('a2a_news', 'A2A'),
          inside: [
            {
              name: 'a2a.invoke',
              attributes: {
                ...FORGED,
                'a2a.agent.name': 'news_agent',
                'a2a.agent.id': '7',
                'a2a.agent.type': 'generic',
              },
            },
          ],
        },
      ],
    },
    {
      name: 'llm.proxy',
      attributes: {
        ...FORGED,
        'langfuse.observation.type': 'generation',
        'gen_ai.system': 'openai',
        'gen_ai.request.model': 'gpt-5-mini',
        'gen_ai.response.model': 'gpt-5-mini',
        'gen_ai.usage.prompt_tokens': 21n,
        'gen_ai.usage.completion_tokens': 8n,
      },
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'get_weather', calls: 1, failed: 1 },
  ],
  agents: ['news_agent'],
};

const chatOfBifrost = (name: string, failed = false) => ({
  name,
  kind: 'client' as const,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'bifrost.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.input.messages': CONTENT,
    'bifrost.virtual_key.name': CONTENT,
    'bifrost.retries': failed ? 0n : 1n,
    ...(failed
      ? { 'error.type': 'rate_limit_error', 'gen_ai.error': CONTENT }
      : { 'gen_ai.response.id': 'r1', 'gen_ai.usage.input_tokens': 21n, 'gen_ai.usage.output_tokens': 8n }),
  },
  failed,
});

/** An attempt that failed has its own span. The name of a span names the MCP server. */
export const bifrost: Program = {
  id: 'bifrost',
  framework: 'Bifrost',
  version: 'August 2026',
  source: 'github.com/maximhq/bifrost, plugins/otel, framework/tracing/llmspan.go, core/schemas/trace.go, core/mcp',
  setUp: `\`\`\`json
{
  "plugins": [
    {
      "name": "otel",
      "enabled": true,
      "config": {
        "service_name": "<service>",
        "collector_url": "<Quartermaster's URL>/v1/traces",
        "headers": { "x-api-key": "<key>" },
        "trace_type": "genai_extension",
        "protocol": "http"
      }
    }
  ]
}
\`\`\``,
  cannotKnow: ['The gateway does not know agents.'],
  scope: 'bifrost',
  spans: [
    {
      name: '/v1/chat/completions',
      kind: 'server',
      attributes: { 'gen_ai.input.messages': CONTENT, 'gen_ai.output.messages': CONTENT, 'bifrost.request.id': 'q1' },
      inside: [
        { name: 'plugin.governance.prehook', attributes: { 'plugin.name': 'governance' } },
        chatOfBifrost('llm.call', true),
        chatOfBifrost('retry.attempt.1'),
        {
          name: 'mcp.chat_tool_call.everything',
          kind: 'client',
          attributes: {
            'mcp.method.name': 'tools/call',
            'network.transport': 'pipe',
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.type': 'function',
            'gen_ai.tool.name': 'everything-echo',
            'gen_ai.tool.call.id': 'call_1',
            'gen_ai.tool.call.arguments': CONTENT,
            'gen_ai.tool.call.result': CONTENT,
            'bifrost.mcp.tool.duration_ms': 4n,
          },
        },
        { name: 'mcp.ping.everything', kind: 'client', attributes: { 'mcp.method.name': 'ping' } },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 1, inputTokens: 21, outputTokens: 8 }],
  tools: [{ name: 'echo', server: 'everything', calls: 1 }],
};

/** The spans of the request and of the optimizer do not count: the client's span of the call at the server is inside them. */
export const toolhive: Program = {
  id: 'toolhive',
  framework: 'ToolHive (Virtual MCP Server)',
  version: 'August 2026',
  source:
    'github.com/stacklok/toolhive, pkg/telemetry/middleware.go and pkg/vmcp/internal/backendtelemetry/backendtelemetry.go',
  setUp: `\`\`\`yaml
# Configuration of the Virtual MCP Server
telemetry:
  endpoint: <host and port of Quartermaster>
  headers: { x-api-key: <key> }
  serviceName: <service>
  tracingEnabled: true
  samplingRate: "1.0"
\`\`\``,
  cannotKnow: ['The gateway does not know agents and models.'],
  scope: 'github.com/stacklok/toolhive/pkg/vmcp',
  spans: [
    {
      scope: 'github.com/stacklok/toolhive/pkg/telemetry',
      name: 'tools/call everything_echo',
      kind: 'server',
      attributes: {
        'http.request.method': 'POST',
        'url.path': '/mcp',
        'server.address': '127.0.0.1:4483',
        'mcp.method.name': 'tools/call',
        'rpc.system.name': 'jsonrpc',
        'jsonrpc.request.id': '3',
        'gen_ai.tool.name': 'everything_echo',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.call.arguments': CONTENT,
        'mcp.server.name': 'my-virtual-server',
        'client.address': '127.0.0.1',
        'mcp.client.name': 'weather-agent',
      },
      inside: [toolhiveCall('echo')],
    },
    {
      scope: 'github.com/stacklok/toolhive/pkg/telemetry',
      name: 'tools/call call_tool',
      kind: 'server',
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'call_tool',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.call.arguments': CONTENT,
        'mcp.server.name': 'my-virtual-server',
        'client.address': '127.0.0.1',
      },
      inside: [
        {
          name: 'optimizer.CallTool',
          attributes: { tool_name: 'everything_get-sum' },
          failed: true,
          inside: [{ ...toolhiveCall('get-sum'), failed: true }],
        },
      ],
    },
    { name: 'optimizer.FindTool', attributes: { tool_description: CONTENT } },
    {
      ...toolhiveCall('echo'),
      name: 'tools/list',
      attributes: {
        'mcp.method.name': 'tools/list',
        'target.workload_name': 'everything',
        action: 'list_capabilities',
      },
    },
  ],
  tools: [
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'get-sum', server: 'everything', calls: 1, failed: 1 },
  ],
};

function toolhiveCall(name: string) {
  return {
    name: `tools/call ${name}`,
    kind: 'client' as const,
    attributes: {
      'target.workload_id': 'default/everything',
      'target.workload_name': 'everything',
      'target.base_url': 'http://127.0.0.1:50123/mcp',
      'target.transport_type': 'streamable-http',
      action: 'call_tool',
      'mcp.method.name': 'tools/call',
      'mcp.protocol.revision': '2025-11-25',
      tool_name: name,
      'gen_ai.tool.name': name,
      'auth.authenticated': true,
    },
  };
}

const ARCHESTRA = {
  'gen_ai.agent.id': 'fd01a8b2-3b1c-4b7e-9a52-0c1f3b6d7e80',
  'gen_ai.agent.name': 'Weather Agent',
  'gen_ai.conversation.id': 'session-1',
  'archestra.agent.type': 'agent',
  'archestra.user.email': CONTENT,
};

const toolOfArchestra = (name: string) => ({
  name: `execute_tool ${name}`,
  attributes: {
    ...ARCHESTRA,
    'route.category': 'mcp-gateway',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'mcp.server.name': 'everything',
  },
});

/** The run of an agent looks like a call of a model without the model, and a blocked call of a tool like one that failed. */
export const archestra: Program = {
  id: 'archestra',
  framework: 'Archestra',
  version: 'November 2026',
  source: 'github.com/archestra-ai/archestra, platform/backend/src/observability/tracing',
  setUp: `\`\`\`sh
ARCHESTRA_OTEL_EXPORTER_OTLP_ENDPOINT=<a collector>/v1/traces
\`\`\`

Archestra sends its key as a bearer token: put a collector that adds the header \`x-api-key\` between.`,
  scope: 'archestra',
  spans: [
    {
      name: 'chat Weather Agent',
      kind: 'server',
      attributes: { ...ARCHESTRA, 'route.category': 'chat', 'gen_ai.operation.name': 'chat' },
      inside: [
        {
          name: 'chat gpt-5-mini',
          kind: 'client',
          attributes: {
            ...ARCHESTRA,
            'route.category': 'llm-proxy',
            'gen_ai.operation.name': 'chat',
            'gen_ai.provider.name': 'openai',
            'gen_ai.request.model': 'gpt-5-mini',
            'gen_ai.request.streaming': true,
            'server.address': 'https://api.openai.com/v1',
            'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
            'gen_ai.response.id': 'r1',
            'gen_ai.usage.input_tokens': 21n,
            'gen_ai.usage.output_tokens': 8n,
            'gen_ai.usage.total_tokens': 29n,
          },
          events: [{ name: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': CONTENT } }],
        },
        {
          ...toolOfArchestra('everything__echo'),
          events: [{ name: 'gen_ai.content.input', attributes: { 'gen_ai.tool.call.arguments': CONTENT } }],
        },
        {
          name: 'execute_tool everything__get-sum',
          attributes: {
            ...toolOfArchestra('everything__get-sum').attributes,
            'mcp.blocked': true,
            'mcp.blocked_reason': CONTENT,
          },
          failed: true,
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 }],
  tools: [{ name: 'echo', server: 'everything', calls: 1, failed: 0 }],
  agents: ['Weather Agent'],
};
