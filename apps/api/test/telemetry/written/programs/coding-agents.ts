import { CONTENT, type Program } from '../program.ts';

const USER = { distinct_id: CONTENT, user_name: CONTENT, extension_version: '3.90.0', os_type: 'linux' };
const TURN = { ...USER, ulid: 't1', provider: 'anthropic', model: 'claude-sonnet-5', mode: 'act' };
const MCP = { ...USER, ulid: 't1', serverName: 'everything', toolName: 'echo', argumentKeys: CONTENT };

/** The name of an event is the body of the record. */
export const cline: Program = {
  id: 'cline',
  framework: 'Cline',
  version: '2026',
  source: 'github.com/cline/cline, src/services/telemetry/{TelemetryService.ts,providers/opentelemetry}',
  setUp: `\`\`\`sh
export CLINE_OTEL_TELEMETRY_ENABLED=1
export CLINE_OTEL_LOGS_EXPORTER=otlp
export CLINE_OTEL_EXPORTER_OTLP_PROTOCOL=http/json
export CLINE_OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL>
export CLINE_OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
\`\`\``,
  cannotKnow: ['There are no agents: a task has an id and no name.'],
  scope: 'cline',
  logs: [
    { event: '', body: 'task.created', attributes: { ...USER, ulid: 't1', apiProvider: 'anthropic' } },
    { event: '', body: 'task.conversation_turn', attributes: { ...TURN, source: 'user' } },
    {
      event: '',
      body: 'task.conversation_turn',
      attributes: { ...TURN, source: 'assistant', tokensIn: 21n, tokensOut: 8n, totalCost: 0.1 },
    },
    { event: '', body: 'task.tokens', attributes: { ...USER, tokensIn: 21n, tokensOut: 8n, model: 'claude-sonnet-5' } },
    {
      event: '',
      body: 'task.tool_used',
      attributes: {
        ...USER,
        ulid: 't1',
        tool: 'read_file',
        autoApproved: true,
        success: true,
        modelId: 'claude-sonnet-5',
      },
    },
    { event: '', body: 'task.mcp_tool_called', attributes: { ...MCP, status: 'started' } },
    { event: '', body: 'task.mcp_tool_called', attributes: { ...MCP, status: 'error', errorMessage: CONTENT } },
    {
      event: '',
      body: 'task.tool_used',
      attributes: { ...USER, ulid: 't1', tool: 'use_mcp_tool', success: false, modelId: 'claude-sonnet-5' },
    },
    { event: '', body: 'task.provider_api_error', attributes: { ...TURN, errorMessage: CONTENT, errorStatus: 529n } },
    {
      event: '',
      body: 'task.conversation_turn',
      attributes: { ...TURN, source: 'assistant', tokensIn: 30n, tokensOut: 9n },
    },
    { event: '', body: 'ui.model_selected', attributes: { ...USER, model: 'gpt-5-mini', provider: 'openai-native' } },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 3, failed: 1, inputTokens: 51, outputTokens: 17 }],
  tools: [
    { name: 'read_file', runsAt: 'agent', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
};

const REQUEST = {
  'session.id': 's1',
  'gen_ai.operation.name': 'chat',
  'gen_ai.provider.name': 'openai',
  'gen_ai.request.model': 'gpt-5-mini',
  duration_ms: 800n,
  'gen_ai.usage.input_tokens': 21n,
  'gen_ai.usage.output_tokens': 8n,
  thoughts_token_count: 3n,
  success: true,
};

const TOOL = {
  'session.id': 's1',
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.type': 'function',
  'gen_ai.tool.description': CONTENT,
};

/** A tool has two spans: with the time that it waited for an approval, and without it. */
export const qwenCode: Program = {
  id: 'qwen-code',
  framework: 'Qwen Code',
  version: '0.24',
  source: 'github.com/QwenLM/qwen-code, packages/core/src/telemetry/{constants,session-tracing}.ts',
  setUp: `\`\`\`json
{
  "telemetry": {
    "enabled": true,
    "target": "local",
    "otlpEndpoint": "<Quartermaster's URL>",
    "otlpProtocol": "http",
    "logPrompts": false
  }
}
\`\`\`

With \`OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>\`.`,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'qwen-code',
  spans: [
    {
      name: 'qwen-code.interaction',
      attributes: { 'session.id': 's1', 'qwen-code.prompt_id': 'p1', 'qwen-code.message_type': CONTENT },
      inside: [
        { name: 'qwen-code.llm_request', kind: 'client', attributes: { ...REQUEST, 'gen_ai.response.id': 'r1' } },
        {
          name: 'qwen-code.tool',
          attributes: { ...TOOL, 'gen_ai.tool.name': 'read_file', duration_ms: 90n, success: true },
          inside: [
            {
              name: 'qwen-code.tool.execution',
              attributes: { 'session.id': 's1', 'gen_ai.tool.name': 'read_file', 'tool.call_id': 'call_1' },
            },
          ],
        },
        {
          name: 'qwen-code.tool',
          attributes: {
            ...TOOL,
            'gen_ai.tool.name': 'mcp__everything__echo',
            success: false,
            error: CONTENT,
            'error.type': 'tool_error',
          },
          failed: true,
          inside: [
            {
              name: 'qwen-code.tool.execution',
              attributes: { 'gen_ai.tool.name': 'mcp__everything__echo', 'tool.call_id': 'call_2', error: CONTENT },
            },
          ],
        },
        { name: 'qwen-code.llm_request', kind: 'client', attributes: { ...REQUEST, 'gen_ai.response.id': 'r2' } },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'read_file', runsAt: 'agent', calls: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
  ],
};
