import { CONTENT, type Program } from '../program.ts';

const EINO = { 'gen_ai.system': 'eino', 'runinfo.type': 'OpenAI', 'gen_ai.is_streaming': false };

const EINO_CHAT = {
  ...EINO,
  'gen_ai.span.kind': 'chatmodel',
  'runinfo.component': 'ChatModel',
  'gen_ai.request.model': 'gpt-5-mini',
  'gen_ai.response.model': 'gpt-5-mini',
  'gen_ai.prompt.0.role': 'user',
  'gen_ai.prompt.0.content': CONTENT,
  'gen_ai.completion.0.content': CONTENT,
  'gen_ai.usage.prompt_tokens': 21n,
  'gen_ai.usage.completion_tokens': 8n,
};

/** Every span has the kind of a client. A tool is known by the name of its span only. */
export const eino: Program = {
  id: 'eino',
  framework: 'Eino (Go) with APMPlus',
  version: 'July 2026',
  source: 'github.com/cloudwego/eino-ext, callbacks/apmplus/apmplus.go',
  setUp: `\`\`\`go
// go get github.com/cloudwego/eino-ext/callbacks/apmplus. It sends gRPC.
handler, shutdown, err := apmplus.NewApmplusHandler(&apmplus.Config{
    Host: "<Quartermaster's host>:4317", AppKey: "<key>", ServiceName: "<service>",
})
callbacks.AppendGlobalHandlers(handler)
\`\`\`

It sends the key under a name of its own: put a collector that adds the header \`x-api-key\` between.`,
  cannotKnow: ['There are no agents.', 'No span names the MCP server of a tool.'],
  scope: 'github.com/cloudwego/eino-ext/callbacks/apmplus',
  spans: [
    {
      name: 'weather_graph',
      kind: 'client',
      attributes: { ...EINO, 'gen_ai.span.kind': 'workflow', 'runinfo.component': 'Graph', 'gen_ai.input': CONTENT },
      inside: [
        { name: 'model', kind: 'client', attributes: EINO_CHAT },
        {
          name: 'ToolsNode',
          kind: 'client',
          attributes: { ...EINO, 'gen_ai.span.kind': 'toolsnode', 'runinfo.component': 'ToolsNode' },
          inside: [
            {
              name: 'get_weather',
              kind: 'client',
              attributes: {
                ...EINO,
                'gen_ai.span.kind': 'tool',
                'runinfo.component': 'Tool',
                'gen_ai.output': CONTENT,
              },
            },
            {
              name: 'echo',
              kind: 'client',
              attributes: { ...EINO, 'gen_ai.span.kind': 'tool', 'runinfo.component': 'Tool' },
              failed: true,
            },
          ],
        },
        { name: 'model', kind: 'client', attributes: EINO_CHAT },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
};

const TRPC_CHAT = {
  'gen_ai.system': 'trpc.go.agent',
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': 'gpt-5-mini',
  'gen_ai.request.is_stream': true,
  'gen_ai.response.model': 'gpt-5-mini',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'trpc.go.agent.llm_request': CONTENT,
  'trpc.go.agent.llm_response': CONTENT,
  'gen_ai.input.messages': CONTENT,
  'gen_ai.input.messages.otel': CONTENT,
};

const TRPC_TOOL = {
  'gen_ai.system': 'trpc.go.agent',
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.description': CONTENT,
  'gen_ai.tool.call.arguments': CONTENT,
};

const nodeOfGraph = (name: string, type: string, inside: Program['spans'] = []) => ({
  name: `workflow ${name}`,
  attributes: {
    'gen_ai.operation.name': 'workflow',
    'gen_ai.workflow.name': name,
    'gen_ai.workflow.id': name,
    'gen_ai.workflow.type': type,
    'gen_ai.workflow.request': CONTENT,
    'gen_ai.workflow.response': CONTENT,
  },
  inside,
});

/** After parallel calls, one more span stands for all of them: the merged tools. A node of a graph is called a workflow. */
export const trpcAgentGo: Program = {
  id: 'trpc-agent-go',
  framework: 'tRPC-Agent-Go',
  version: 'August 2026',
  source:
    'github.com/trpc-group/trpc-agent-go, internal/telemetry/trace.go, telemetry/semconv/trace, graph/{executor,state_graph}.go',
  setUp: `\`\`\`go
// OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
clean, err := trace.Start(ctx, trace.WithEndpointURL("<Quartermaster's URL>/v1/traces"), trace.WithProtocol("http"))
\`\`\``,
  cannotKnow: [
    'No span names the vendor of a model: a model belongs to the declared provider that has it.',
    'No span names the MCP server of a tool.',
  ],
  scope: 'trpc.agent.go',
  spans: [
    {
      name: 'invoke_agent weather_agent',
      attributes: {
        'gen_ai.system': 'trpc.go.agent',
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.agent.id': 'a1',
        'gen_ai.agent.description': CONTENT,
        'gen_ai.system_instructions': CONTENT,
        'trpc.go.agent.runner.input': CONTENT,
        'trpc.go.agent.runner.user_id': CONTENT,
      },
      inside: [
        { name: 'chat gpt-5-mini', attributes: { ...TRPC_CHAT, 'gen_ai.response.id': 'r1' } },
        {
          name: 'execute_tool get_weather',
          attributes: { ...TRPC_TOOL, 'gen_ai.tool.name': 'get_weather', 'gen_ai.tool.call.id': 'call_1' },
        },
        {
          name: 'execute_tool echo',
          attributes: {
            ...TRPC_TOOL,
            'gen_ai.tool.name': 'echo',
            'gen_ai.tool.call.id': 'call_2',
            'error.type': 'tool_error',
          },
          failed: true,
        },
        {
          name: 'execute_tool (merged tools)',
          attributes: { ...TRPC_TOOL, 'gen_ai.tool.name': '(merged tools)', 'gen_ai.tool.call.id': 'call_1' },
        },
        nodeOfGraph('execute_graph weather_agent', 'graph', [
          nodeOfGraph('execute_function_node plan', 'function'),
          nodeOfGraph('execute_function_node answer', 'llm', [
            { name: 'chat gpt-5-mini', attributes: { ...TRPC_CHAT, 'gen_ai.response.id': 'r2' } },
          ]),
        ]),
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};

const RIG_CHAT = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'anthropic',
  'gen_ai.request.model': 'claude-sonnet-5',
  'gen_ai.system_instructions': CONTENT,
  'gen_ai.response.model': 'claude-sonnet-5',
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  'gen_ai.usage.tool_use_prompt_tokens': 5n,
  'gen_ai.input.messages': CONTENT,
  'gen_ai.output.messages': CONTENT,
  'code.module.name': 'rig_agent::agent::runner',
  'thread.name': 'tokio-runtime-worker',
  busy_ns: 5000n,
  target: 'rig::agent_chat',
};

/** A failed tool has an attribute of its own for the error, and no status. */
export const rig: Program = {
  id: 'rig',
  framework: 'Rig (Rust) with tracing-opentelemetry',
  version: 'August 2026',
  source: 'github.com/0xPlaygrounds/rig, crates/rig-agent/src/agent/runner.rs, crates/rig-core/src/telemetry/mod.rs',
  setUp: `\`\`\`rust
// OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
let exporter = opentelemetry_otlp::SpanExporter::builder().with_http().build()?;
let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).build();
tracing_subscriber::registry()
    .with(tracing_opentelemetry::layer().with_tracer(provider.tracer("<service>")))
    .init();
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'weather-service',
  spans: [
    {
      name: 'invoke_agent',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.system_instructions': CONTENT,
        'gen_ai.prompt': CONTENT,
        'gen_ai.completion': CONTENT,
        'gen_ai.usage.input_tokens': 42n,
        'gen_ai.usage.output_tokens': 16n,
      },
      inside: [
        {
          name: 'chat',
          attributes: { ...RIG_CHAT, 'gen_ai.agent.name': 'weather_agent', 'gen_ai.response.id': 'r1' },
          events: [
            { name: 'Anthropic completion request', attributes: { level: 'TRACE', target: 'rig', body: CONTENT } },
          ],
        },
        {
          name: 'execute_tool',
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.type': 'function',
            'gen_ai.tool.name': 'get_weather',
            'gen_ai.tool.call.id': 'call_1',
            'gen_ai.tool.call.arguments': CONTENT,
            'gen_ai.tool.call.result': CONTENT,
            'gen_ai.tool.call.outcome': 'success',
          },
        },
        {
          name: 'execute_tool',
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.type': 'function',
            'gen_ai.tool.name': 'echo',
            'gen_ai.tool.call.id': 'call_2',
            'gen_ai.tool.call.outcome': 'error',
            'gen_ai.tool.error.type': 'tool_call_error',
          },
        },
        {
          name: 'chat_streaming',
          attributes: { ...RIG_CHAT, 'gen_ai.agent.name': 'weather_agent', 'gen_ai.response.id': 'r2' },
        },
      ],
    },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'get_weather', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['weather_agent'],
};
