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
