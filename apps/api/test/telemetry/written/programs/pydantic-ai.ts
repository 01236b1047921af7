import { CONTENT, type Program } from '../program.ts';

const RUN = {
  'gen_ai.agent.name': 'weather_agent',
  'gen_ai.agent.call.id': 'run_1',
  'gen_ai.conversation.id': 'conversation_1',
};

const OPENAI = {
  'gen_ai.provider.name': 'openai',
  'gen_ai.system': 'openai',
  'server.address': 'api.openai.com',
};

const AGGREGATED = { 'gen_ai.aggregated_usage.input_tokens': 42n, 'gen_ai.aggregated_usage.output_tokens': 16n };

const chat = (output = `[{"role":"assistant","parts":[{"type":"text","content":"${CONTENT}"}]}]`) => ({
  name: 'chat gpt-5-mini',
  kind: 'client' as const,
  attributes: {
    ...OPENAI,
    ...RUN,
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-5-mini',
    model_request_parameters: CONTENT,
    'logfire.json_schema': '{"type":"object"}',
    'gen_ai.tool.definitions': CONTENT,
    'gen_ai.input.messages': CONTENT,
    'gen_ai.output.messages': output,
    'gen_ai.usage.input_tokens': 21n,
    'gen_ai.usage.output_tokens': 8n,
    'gen_ai.usage.details.reasoning_tokens': 2n,
    'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
    'operation.cost': 0.001,
    'gen_ai.response.finish_reasons': ['tool_call'],
  },
});

const tool = (name: string, { message = `running tool: ${name}`, ...more } = {}) => ({
  name: `execute_tool ${name}`,
  attributes: {
    ...RUN,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': `call_${name}_${message.length}`,
    'gen_ai.tool.call.arguments': CONTENT,
    'gen_ai.tool.call.result': CONTENT,
    'logfire.msg': message,
    'logfire.json_schema': '{"type":"object"}',
    ...more,
  },
});

const agent = (name: string) => ({
  name: `invoke_agent ${name}`,
  attributes: {
    ...RUN,
    ...AGGREGATED,
    model_name: 'gpt-5-mini',
    agent_name: name,
    'gen_ai.agent.name': name,
    'gen_ai.agent.description': CONTENT,
    'gen_ai.operation.name': 'invoke_agent',
    'logfire.msg': `${name} run`,
    final_result: CONTENT,
    'pydantic_ai.all_messages': CONTENT,
    'gen_ai.system_instructions': CONTENT,
    metadata: CONTENT,
  },
});

const NATIVE = [
  { type: 'tool_call', id: 'ws_1', name: 'web_search', builtin: true, arguments: CONTENT },
  { type: 'tool_call_response', id: 'ws_1', name: 'web_search', builtin: true, result: CONTENT },
  { type: 'tool_call', id: 'call_1', name: 'get_weather' },
];

/** A call that is refused or waits for an approval has the span of a tool, and so has an output function. */
export const pydanticAi: Program = {
  id: 'pydantic-ai',
  framework: 'Pydantic AI',
  version: 'August 2026',
  source:
    'github.com/pydantic/pydantic-ai, pydantic_ai_slim/pydantic_ai (capabilities/instrumentation.py, _instrumentation.py, embeddings/instrumented.py)',
  setUp: `\`\`\`python
# pip install pydantic-ai opentelemetry-exporter-otlp-proto-http
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import set_tracer_provider
from pydantic_ai import Agent

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
set_tracer_provider(provider)
Agent.instrument_all()
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'pydantic-ai',
  spans: [
    {
      ...agent('weather_agent'),
      inside: [
        {
          name: 'waiting for model:gpt-5-mini concurrency',
          attributes: { source: 'model:gpt-5-mini', waiting_count: 1n },
        },
        chat(`[{"role":"assistant","parts":${JSON.stringify(NATIVE)}}]`),
        {
          ...tool('get_weather', {
            message: 'invalid tool call: get_weather',
            'pydantic_ai.tool.failure_stage': 'validation',
          } as never),
          events: [{ name: 'exception', attributes: { 'exception.type': 'ValidationError' } }],
          failed: true,
        },
        tool('get_weather'),
        {
          ...tool('echo'),
          inside: [
            {
              scope: 'logfire.mcp',
              name: 'MCP request: tools/call echo',
              attributes: {
                'rpc.system': 'jsonrpc',
                'rpc.method': 'tools/call',
                'rpc.jsonrpc.version': '2.0',
                request: `{"method":"tools/call","params":{"name":"echo","arguments":{"message":"${CONTENT}"}}}`,
                response: CONTENT,
              },
            },
          ],
        },
        tool('delete_file', {
          'pydantic_ai.tool.deferral.name': 'ApprovalRequired',
          'pydantic_ai.tool.deferral.metadata': CONTENT,
        } as never),
        { ...tool('ask_expert'), inside: [{ ...agent('expert'), inside: [chat()] }] },
        tool('final_result', { message: 'running output function: final_result' }),
      ],
    },
    {
      name: 'embeddings text-embedding-3-small',
      attributes: {
        ...OPENAI,
        'gen_ai.operation.name': 'embeddings',
        'gen_ai.request.model': 'text-embedding-3-small',
        input_type: 'query',
        inputs_count: 1n,
        inputs: CONTENT,
        'gen_ai.usage.input_tokens': 4n,
        'gen_ai.response.model': 'text-embedding-3-small',
      },
    },
  ],
  models: [
    { name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 },
    { name: 'text-embedding-3-small', vendor: 'openai', calls: 1, inputTokens: 4, outputTokens: 0 },
  ],
  tools: [
    { name: 'get_weather', calls: 1, failed: 0 },
    { name: 'ask_expert', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'web_search', runsAt: 'vendor', calls: 1 },
  ],
  agents: ['weather_agent', 'expert'],
};
