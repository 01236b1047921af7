import { CONTENT, type Program } from '../program.ts';

const EXPORTER = `# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key> OTEL_SERVICE_NAME=<service>
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor`;

const setUp = (packageName: string, module: string) => `\`\`\`python
# pip install openai-agents ${packageName} opentelemetry-exporter-otlp-proto-http
${EXPORTER}
from ${module} import OpenAIAgentsInstrumentor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
OpenAIAgentsInstrumentor().instrument(tracer_provider=provider)
\`\`\``;

const MODELS = [{ name: 'gpt-5-mini', vendor: 'openai', calls: 3, failed: 1, inputTokens: 42, outputTokens: 16 }];
const TOOLS = [
  { name: 'get_weather', calls: 1, failed: 1 },
  { name: 'echo', server: 'everything', calls: 1, failed: 0 },
];
const NO_SERVER = 'No span names the MCP server of a tool.';

const OPENAI = { 'gen_ai.provider.name': 'openai', 'gen_ai.system': 'openai' };
const ANSWERED = { 'gen_ai.usage.input_tokens': 21n, 'gen_ai.usage.output_tokens': 8n };
const MESSAGES = { 'gen_ai.input.messages': CONTENT, 'gen_ai.output.messages': CONTENT };

const chat = (id: string) => ({
  name: 'chat gpt-5-mini-2025-08-07',
  kind: 'client' as const,
  attributes: {
    ...OPENAI,
    'gen_ai.operation.name': 'chat',
    'gen_ai.response.id': id,
    'gen_ai.request.model': 'gpt-5-mini-2025-08-07',
    'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
    'gen_ai.tool.definitions': CONTENT,
    ...ANSWERED,
    ...MESSAGES,
  },
});

const tool = (name: string) => ({
  name: `execute_tool ${name}`,
  attributes: {
    ...OPENAI,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.arguments': CONTENT,
    'gen_ai.tool.call.result': CONTENT,
    'gen_ai.output.type': 'text',
  },
});

/** The span of an agent is a client's, and repeats the model of the calls inside. The answer's model is the requested one. */
export const openaiAgentsOpentelemetry: Program = {
  id: 'openai-agents-python',
  framework: "OpenAI Agents SDK for Python with OpenTelemetry's instrumentation",
  version: 'August 2026',
  source:
    'github.com/open-telemetry/opentelemetry-python-contrib, instrumentation-genai/opentelemetry-instrumentation-openai-agents-v2/src',
  setUp: setUp('opentelemetry-instrumentation-openai-agents-v2', 'opentelemetry.instrumentation.openai_agents'),
  cannotKnow: ['A call that fails has no model, because the model is taken from the answer.', NO_SERVER],
  scope: 'opentelemetry.instrumentation.openai_agents',
  spans: [
    {
      name: 'Agent workflow',
      kind: 'server',
      attributes: { ...OPENAI, 'gen_ai.operation.name': 'invoke_agent' },
      inside: [
        {
          name: 'invoke_agent weather_agent',
          kind: 'client',
          attributes: {
            ...OPENAI,
            ...MESSAGES,
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.agent.name': 'weather_agent',
            'gen_ai.request.model': 'gpt-5-mini-2025-08-07',
            'gen_ai.output.type': 'text',
          },
          inside: [
            { name: 'unknown', attributes: { ...OPENAI, 'gen_ai.operation.name': 'unknown' } },
            {
              name: 'guardrail',
              attributes: { ...OPENAI, 'gen_ai.operation.name': 'guardrail', 'gen_ai.guardrail.triggered': false },
            },
            {
              name: 'chat',
              kind: 'client',
              attributes: { ...OPENAI, 'gen_ai.operation.name': 'chat', 'error.type': 'RateLimitError' },
              failed: true,
            },
            chat('resp_1'),
            { ...tool('get_weather'), failed: true },
            tool('echo'),
            {
              name: 'handoff',
              attributes: {
                ...OPENAI,
                'gen_ai.operation.name': 'handoff',
                'gen_ai.handoff.from_agent': 'weather_agent',
                'gen_ai.handoff.to_agent': 'umbrella_agent',
              },
            },
          ],
        },
        {
          name: 'invoke_agent umbrella_agent',
          kind: 'client',
          attributes: {
            ...OPENAI,
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.agent.name': 'umbrella_agent',
            'gen_ai.request.model': 'gpt-5-mini-2025-08-07',
          },
          inside: [chat('resp_2')],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: TOOLS,
  agents: ['weather_agent', 'umbrella_agent'],
};

const response = (scope: string) => ({
  scope,
  name: 'openai.response',
  kind: 'client' as const,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
    'llm.usage.total_tokens': 29n,
    'gen_ai.usage.total_tokens': 29n,
    ...ANSWERED,
    ...MESSAGES,
  },
});

const TRACELOOP = 'opentelemetry.instrumentation.openai_agents';

const traceloopTool = (name: string) => ({
  name: `${name}.tool`,
  attributes: {
    'traceloop.span.kind': 'tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.description': CONTENT,
    'gen_ai.provider.name': 'openai',
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.call.arguments': CONTENT,
  },
});

const traceloopAgent = (name: string) => ({
  name: `${name}.agent`,
  attributes: {
    'traceloop.span.kind': 'agent',
    'gen_ai.agent.name': name,
    'gen_ai.provider.name': 'openai',
    'gen_ai.operation.name': 'invoke_agent',
    'openai.agent.handoffs': CONTENT,
  },
});

/** The workflow always has the same name. */
export const openaiAgentsOpenllmetry: Program = {
  id: 'openai-agents-python-openllmetry',
  framework: 'OpenAI Agents SDK for Python with OpenLLMetry',
  version: 'June 2026',
  source: 'github.com/traceloop/openllmetry, packages/opentelemetry-instrumentation-openai-agents',
  setUp: setUp('opentelemetry-instrumentation-openai-agents', 'opentelemetry.instrumentation.openai_agents'),
  cannotKnow: ['A call that fails has no model, because the model is taken from the answer.', NO_SERVER],
  scope: TRACELOOP,
  spans: [
    {
      name: 'Agent Workflow',
      attributes: {
        'traceloop.span.kind': 'workflow',
        'gen_ai.provider.name': 'openai',
        'traceloop.workflow.name': 'Agent Workflow',
      },
      inside: [
        {
          ...traceloopAgent('weather_agent'),
          inside: [
            response(TRACELOOP),
            { ...traceloopTool('get_weather'), failed: true },
            traceloopTool('echo'),
            {
              name: 'weather_agent → umbrella_agent.handoff',
              attributes: {
                'traceloop.span.kind': 'handoff',
                'gen_ai.provider.name': 'openai',
                'gen_ai.operation.name': 'handoff',
                'gen_ai.handoff.from_agent': 'weather_agent',
                'gen_ai.agent.name': 'weather_agent',
                'gen_ai.handoff.to_agent': 'umbrella_agent',
              },
            },
          ],
        },
        { ...traceloopAgent('umbrella_agent'), inside: [response(TRACELOOP)] },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: TOOLS,
  agents: ['weather_agent', 'umbrella_agent'],
};

const LOGFIRE = { 'gen_ai.system': 'openai', 'logfire.span_type': 'span', 'logfire.json_schema': '{}' };

const logfireResponse = {
  name: 'Responses API with {gen_ai.request.model!r}',
  attributes: {
    ...LOGFIRE,
    'logfire.msg_template': 'Responses API with {gen_ai.request.model!r}',
    'logfire.msg': "Responses API with 'gpt-5-mini'",
    response_id: 'resp_1',
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
    'gen_ai.operation.name': 'chat',
    response: CONTENT,
    raw_input: CONTENT,
    events: CONTENT,
    model_settings: '{}',
    ...ANSWERED,
  },
};

const FAILED_IN_LOGFIRE = { error: `{"message":"${CONTENT}","data":{}}`, 'logfire.level_num': 17n };

const logfireTool = (name: string, attributes: Record<string, string>) => ({
  name: 'Function: {name}',
  attributes: {
    ...LOGFIRE,
    'logfire.msg_template': 'Function: {name}',
    'logfire.msg': `Function: ${name}`,
    name,
    input: CONTENT,
    output: CONTENT,
    ...attributes,
  },
});

const logfireAgent = (name: string) => ({
  name: 'Agent run: {name!r}',
  attributes: {
    ...LOGFIRE,
    'logfire.msg_template': 'Agent run: {name!r}',
    'logfire.msg': `Agent run: '${name}'`,
    name,
    handoffs: '["umbrella_agent"]',
    tools: '["get_weather"]',
    output_type: 'str',
  },
});

/** A call that failed has an error as its level, and no status. Only the function of a tool names its MCP server. */
export const openaiAgentsLogfire: Program = {
  id: 'openai-agents-python-logfire',
  framework: 'OpenAI Agents SDK for Python with Logfire',
  version: 'August 2026',
  source: 'github.com/pydantic/logfire, logfire/_internal/integrations/openai_agents.py',
  setUp: `\`\`\`python
# pip install openai-agents logfire
# OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL> OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
import logfire

logfire.configure(service_name="<service>", send_to_logfire=False)
logfire.instrument_openai_agents()
\`\`\``,
  scope: 'logfire.openai_agents',
  spans: [
    {
      name: 'OpenAI Agents trace: {name}',
      attributes: { 'logfire.span_type': 'span', name: 'Agent workflow', agent_trace_id: 'trace_1' },
      inside: [
        {
          name: 'Task: Agent workflow',
          attributes: {
            ...LOGFIRE,
            sdk_span_type: 'task',
            name: 'Agent workflow',
            usage: '{"requests":2,"input_tokens":42,"output_tokens":16,"total_tokens":58}',
          },
          inside: [
            {
              ...logfireAgent('weather_agent'),
              inside: [
                {
                  name: 'Turn {turn} for agent weather_agent',
                  attributes: {
                    ...LOGFIRE,
                    sdk_span_type: 'turn',
                    turn: 1n,
                    agent_name: 'weather_agent',
                    usage: '{"requests":1,"input_tokens":21,"output_tokens":8,"total_tokens":29}',
                  },
                  inside: [
                    {
                      name: 'MCP: list tools from server {server}',
                      attributes: { ...LOGFIRE, server: 'everything', result: '["echo"]' },
                    },
                    {
                      name: 'Guardrail {name!r} {triggered=}',
                      attributes: { ...LOGFIRE, name: 'no_politics', triggered: false },
                    },
                    {
                      name: 'Responses API with {gen_ai.request.model!r}',
                      attributes: { ...LOGFIRE, 'gen_ai.request.model': 'gpt-5-mini', ...FAILED_IN_LOGFIRE },
                    },
                    logfireResponse,
                    logfireTool('get_weather', FAILED_IN_LOGFIRE as never),
                    logfireTool('echo', { mcp_data: '{"server":"everything"}' }),
                    {
                      name: 'Handoff: {from_agent} → {to_agent}',
                      attributes: { ...LOGFIRE, from_agent: 'weather_agent', to_agent: 'umbrella_agent' },
                    },
                  ],
                },
              ],
            },
            { ...logfireAgent('umbrella_agent'), inside: [logfireResponse] },
          ],
        },
      ],
    },
  ],
  models: MODELS,
  tools: TOOLS,
  agents: ['weather_agent', 'umbrella_agent'],
};

const INFERENCE = { 'openinference.span.kind': 'LLM', 'llm.system': 'openai' };

const inferenceResponse = {
  name: 'response',
  attributes: {
    ...INFERENCE,
    'output.mime_type': 'application/json',
    'output.value': `{"id":"resp_1","output":[{"type":"message","content":"${CONTENT}"}]}`,
    'input.value': CONTENT,
    'llm.tools.0.tool.json_schema': CONTENT,
    'llm.token_count.prompt': 21n,
    'llm.token_count.completion': 8n,
    'llm.token_count.total': 29n,
    'llm.token_count.prompt_details.cache_read': 0n,
    'llm.output_messages.0.message.role': 'assistant',
    'llm.model_name': 'gpt-5-mini-2025-08-07',
    'llm.invocation_parameters': '{"model":"gpt-5-mini-2025-08-07"}',
  },
};

const inferenceTool = (name: string) => ({
  name,
  attributes: {
    'openinference.span.kind': 'TOOL',
    'tool.name': name,
    'tool.description': CONTENT,
    'tool.parameters': CONTENT,
    'input.value': CONTENT,
    'output.value': CONTENT,
  },
});

const inferenceAgent = (name: string) => ({
  name,
  attributes: { 'openinference.span.kind': 'AGENT', 'graph.node.id': name, 'agent.name': name },
});

/** The root span is an agent's without a name. Tasks and turns are chains. */
export const openaiAgentsOpeninference: Program = {
  id: 'openai-agents-python-openinference',
  framework: 'OpenAI Agents SDK for Python with OpenInference',
  version: 'August 2026',
  source: 'github.com/Arize-ai/openinference, python/instrumentation/openinference-instrumentation-openai-agents/src',
  setUp: setUp('openinference-instrumentation-openai-agents', 'openinference.instrumentation.openai_agents'),
  cannotKnow: ['A call that fails has no model, because the model is taken from the answer.', NO_SERVER],
  scope: 'openinference.instrumentation.openai_agents',
  spans: [
    {
      name: 'Agent workflow',
      attributes: { 'openinference.span.kind': 'AGENT' },
      inside: [
        {
          name: 'Agent workflow',
          attributes: { 'openinference.span.kind': 'CHAIN' },
          inside: [
            {
              ...inferenceAgent('weather_agent'),
              inside: [
                {
                  name: 'turn',
                  attributes: { 'openinference.span.kind': 'CHAIN' },
                  inside: [
                    {
                      name: 'mcp_tools',
                      attributes: { 'openinference.span.kind': 'CHAIN', 'output.value': CONTENT },
                    },
                    { name: 'no_politics', attributes: { 'openinference.span.kind': 'GUARDRAIL' } },
                    { name: 'response', attributes: INFERENCE, failed: true },
                    inferenceResponse,
                    { ...inferenceTool('get_weather'), failed: true },
                    inferenceTool('echo'),
                    {
                      name: 'handoff to umbrella_agent',
                      attributes: {
                        'openinference.span.kind': 'TOOL',
                        'input.value': 'weather_agent',
                        'output.value': 'umbrella_agent',
                      },
                    },
                  ],
                },
              ],
            },
            { ...inferenceAgent('umbrella_agent'), inside: [inferenceResponse] },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: TOOLS,
  agents: ['weather_agent', 'umbrella_agent'],
};

const tracekitTool = (name: string) => ({
  name: `Tool - ${name}`,
  attributes: { type: 'function', name, input: CONTENT, output: CONTENT },
});

const tracekitAgent = (name: string) => ({
  name: `Agent - ${name}`,
  attributes: { type: 'agent', agent_name: name, handoffs: ['umbrella_agent'], output_type: 'str', tools: [CONTENT] },
});

const tracekitResponse = (agent: string, id: string) => ({
  name: 'Response',
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': 'openai',
    'gen_ai.agent.name': agent,
    'gen_ai.prompt.0.role': 'user',
    'gen_ai.prompt.0.content': CONTENT,
    'gen_ai.completion.0.content': CONTENT,
    'gen_ai.request.tools.0.function.description': CONTENT,
    'gen_ai.request.model': 'gpt-5-mini-2025-08-07',
    'gen_ai.response.model': 'gpt-5-mini-2025-08-07',
    'gen_ai.response.id': id,
    ...ANSWERED,
  },
});

/** Tools and agents are named by the names of their spans. */
export const openaiAgentsTracekit: Program = {
  id: 'openai-agents-python-tracekit',
  framework: "OpenAI Agents SDK for Python with Coralogix's llm-tracekit",
  version: 'April 2026',
  source:
    'github.com/coralogix/llm-tracekit, instrumentations/openai-agents/src/llm_tracekit/openai_agents/tracing_processor.py',
  setUp: setUp('llm-tracekit-openai-agents', 'llm_tracekit.openai_agents'),
  cannotKnow: ['A call that fails has no model, because the model is taken from the answer.', NO_SERVER],
  scope: 'llm_tracekit.openai_agents.instrumentor',
  spans: [
    {
      name: 'openai.agent',
      kind: 'client',
      inside: [
        {
          ...tracekitAgent('weather_agent'),
          inside: [
            { name: 'Guardrail - pii', attributes: { type: 'guardrail', name: 'pii', triggered: false } },
            tracekitResponse('weather_agent', 'resp_1'),
            { ...tracekitTool('get_weather'), failed: true },
            tracekitTool('echo'),
            {
              name: 'Handoff',
              attributes: { type: 'handoff', from_agent: 'weather_agent', to_agent: 'umbrella_agent' },
            },
          ],
        },
        { ...tracekitAgent('umbrella_agent'), inside: [tracekitResponse('umbrella_agent', 'resp_2')] },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: TOOLS,
  agents: ['weather_agent', 'umbrella_agent'],
};
