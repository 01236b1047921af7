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

const fromCursor = (id: string) => ({
  'cursor.event.id': `customer-telemetry:v1:${id}`,
  'cursor.source_event.id': `source-${id}`,
  'cursor.conversation.id': 'bc-1',
});

const requestOfCursor = (id: string, usage: string, failed = false) => ({
  event: '',
  body: failed ? 'api_error' : 'api_request',
  attributes: {
    ...fromCursor(id),
    'cursor.request.id': `request-${usage}`,
    'cursor.usage_event.id': usage,
    'cursor.model.name': 'claude-4.5-sonnet',
    'cursor.api.billable': true,
    ...(!failed && {
      'cursor.api.request.input_tokens': 21n,
      'cursor.api.request.output_tokens': 8n,
      'cursor.api.request.cache_read_tokens': 50n,
      'cursor.api.request.cache_creation_tokens': 4n,
    }),
  },
});

const toolOfCursor = (id: string, name: string, outcome: string) => ({
  event: '',
  body: 'grok_bot_tool_result',
  attributes: {
    ...fromCursor(id),
    'cursor.grok_bot.provenance': 'client',
    'cursor.grok_bot.tool_call.id': `call-${name}`,
    'cursor.tool.name': name,
    'cursor.grok_bot.tool_result.outcome': outcome,
    'cursor.grok_bot.tool_result.duration_ms': 12n,
  },
});

const REQUEST_1 = requestOfCursor('e1', 'u1');

/** The body of a record is the name of its event, which Claude Code has as well. Records may be sent again. */
export const cursor: Program = {
  id: 'cursor',
  framework: 'Cursor, with its OpenTelemetry Export',
  version: 'November 2026',
  source: 'cursor.com/docs/enterprise/opentelemetry-export/wire',
  setUp: `In *Team Settings > OpenTelemetry Export* of the Enterprise plan, create a destination with Quartermaster's URL and the header
\`x-api-key: <key>\`. Cursor's servers have to reach the URL by HTTPS.`,
  cannotKnow: [
    'Only the tools of Grok Bot have records: the tools of the editor, the CLI and the cloud agents are in metrics.',
    'Cursor does not name the vendor of a model. The name of the model may tell it.',
    'Agents have an id and no name.',
  ],
  scope: 'cursor.telemetry',
  service: 'cursor',
  resource: { 'cursor.team.id': 4242n, 'cursor.surface': 'grok_bot', 'cursor.entrypoint': 'web' },
  logs: [
    REQUEST_1,
    REQUEST_1,
    { ...requestOfCursor('e2', 'u2'), event: 'cursor.api.request' },
    requestOfCursor('e3', 'u2', true),
    requestOfCursor('e4', 'u3', true),
    {
      event: '',
      body: 'api_correction_not_billed_errored',
      attributes: {
        ...fromCursor('e5'),
        'cursor.usage_event.id': 'u3',
        'cursor.api.correction.kind': 'not_billed_errored',
      },
    },
    {
      event: '',
      body: 'grok_bot_tool_decision',
      attributes: {
        ...fromCursor('e6'),
        'cursor.grok_bot.tool_call.id': 'call-shell',
        'cursor.tool.name': 'shell',
        'cursor.grok_bot.decision.outcome': 'allowed',
      },
    },
    toolOfCursor('e7', 'shell', 'error'),
    toolOfCursor('e8', 'read', 'denied'),
    {
      event: '',
      body: 'grok_bot_shell_command',
      attributes: {
        ...fromCursor('e9'),
        'cursor.grok_bot.shell.command': CONTENT,
        'cursor.grok_bot.shell.allowed': true,
      },
    },
    {
      event: '',
      body: 'grok_bot_mcp_tool_call',
      attributes: {
        ...fromCursor('e10'),
        'cursor.grok_bot.tool_call.id': 'call-echo',
        'cursor.tool.name': 'echo',
        'cursor.tool.status': 'success',
        'cursor.mcp.server.name': 'everything',
        'cursor.grok_bot.mcp.transport': 'http',
      },
    },
    {
      event: 'cursor.conversation.tool_io',
      attributes: { ...fromCursor('e11'), 'cursor.grok_bot.tool_call.id': 'call-echo', 'cursor.tool.name': 'echo' },
    },
  ],
  models: [{ name: 'claude-4.5-sonnet', vendor: 'anthropic', calls: 3, failed: 2, inputTokens: 150, outputTokens: 16 }],
  tools: [
    { name: 'shell', runsAt: 'agent', calls: 1, failed: 1 },
    { name: 'echo', server: 'everything', calls: 1, failed: 0 },
  ],
};

const GOOSE = { 'session.id': '20261126_1', 'gen_ai.conversation.id': '20261126_1' };

const toolOfGoose = (name: string, failed = false) => ({
  name: 'dispatch_tool_call',
  attributes: {
    ...GOOSE,
    input: CONTENT,
    output: CONTENT,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': `call_${name}`,
    'gen_ai.tool.call.arguments': CONTENT,
  },
  failed,
});

const chatOfGoose = {
  name: 'stream_response_from_provider',
  attributes: {
    ...GOOSE,
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.input.messages': CONTENT,
    'gen_ai.output.messages': CONTENT,
    'gen_ai.usage.input_tokens': 21n,
    'gen_ai.usage.output_tokens': 8n,
  },
};

/** The name of a recipe is the name of the agent. A tool has its extension in front, which is an MCP server. */
export const goose: Program = {
  id: 'goose',
  framework: 'goose',
  version: 'August 2026',
  source:
    'github.com/aaif-goose/goose, crates/goose/src/agents/{agent,reply_parts,gen_ai_telemetry}.rs, crates/goose/src/otel',
  setUp: `\`\`\`sh
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL>
export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
\`\`\``,
  scope: 'goose',
  service: 'goose',
  spans: [
    {
      name: 'reply_stream',
      attributes: {
        ...GOOSE,
        'session.agent_type': 'goose',
        'session.user': CONTENT,
        'session.host': CONTENT,
        trace_output: CONTENT,
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'weather_agent',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': 'claude-sonnet-5',
        'gen_ai.usage.input_tokens': 42n,
        'gen_ai.usage.output_tokens': 16n,
      },
      inside: [chatOfGoose, toolOfGoose('everything__echo', true), toolOfGoose('get_weather'), chatOfGoose],
    },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 2, inputTokens: 42, outputTokens: 16 }],
  tools: [
    { name: 'echo', server: 'everything', calls: 1, failed: 1 },
    { name: 'get_weather', calls: 1 },
  ],
  agents: ['weather_agent'],
};

const toolOfCodebuddy = (name: string, inside: Program['spans'] = [], failed = false) => ({
  name: 'codebuddy_code.tool',
  attributes: { 'span.type': 'tool', tool_name: name, 'tool.call_id': `call_${name}`, tool_input: CONTENT },
  events: [{ name: 'tool_result', attributes: { content: CONTENT } }],
  failed,
  inside,
});

export const codebuddy: Program = {
  id: 'codebuddy',
  framework: 'CodeBuddy Code',
  version: '@tencent-ai/agent-sdk 0.3.201',
  source: 'npm: @tencent-ai/agent-sdk, cli/dist/codebuddy-headless.js and the documentation in it (monitoring.md)',
  setUp: `\`\`\`sh
export CODEBUDDY_CODE_ENABLE_TELEMETRY=1
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL>
export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
\`\`\``,
  cannotKnow: [
    'The spans do not name models.',
    'With another `OTEL_SERVICE_NAME` the name of a subagent is not known, because that is also the name of the scope.',
  ],
  scope: 'CodeBuddy-CLI-2.103.2',
  service: 'CodeBuddy-CLI-2.103.2',
  spans: [
    {
      name: 'codebuddy_code.interaction',
      kind: 'client',
      attributes: {
        'span.type': 'interaction',
        'conversation.id': 'conversation-1',
        'conversation.agent': 'cli',
        user_prompt: CONTENT,
        user_prompt_length: 13n,
      },
      inside: [
        toolOfCodebuddy('Bash', [], true),
        toolOfCodebuddy('mcp__everything__echo', [
          {
            name: 'codebuddy_code.mcp_call',
            attributes: { 'span.type': 'mcp_call', 'mcp.server': 'everything', 'mcp.tool': 'echo' },
          },
        ]),
        toolOfCodebuddy('Agent'),
        {
          name: 'codebuddy_code.subagent',
          attributes: {
            'span.type': 'subagent',
            'conversation.id': 'conversation-2',
            agent_id: 'agent-1',
            agent_type: 'Explore',
          },
          inside: [toolOfCodebuddy('Read')],
        },
        {
          name: 'codebuddy_code.context_compact',
          attributes: { 'span.type': 'context_compact', 'compact.type': 'auto' },
        },
      ],
    },
  ],
  tools: [
    { name: 'Bash', runsAt: 'agent', calls: 1, failed: 1 },
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'Agent', runsAt: 'agent', calls: 1 },
    { name: 'Read', runsAt: 'agent', calls: 1 },
  ],
  agents: ['cli', 'Explore'],
};

const hookSpan = (hook: string, operation: string, attributes: object = {}) => ({
  name: `gen_ai.client.hook.${hook}`,
  attributes: {
    'gen_ai.client.hook.event': hook,
    'gen_ai.client.name': 'cursor',
    'gen_ai.client.session_id': 'c1',
    'gen_ai.client.workspace': CONTENT,
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.system': 'cursor',
    'gen_ai.operation.name': operation,
    'gen_ai.conversation.id': 'c1',
    'gen_ai.request.model': 'claude-sonnet-5',
    ...attributes,
  },
});

const hookOfTool = (hook: string, tool: string, id: string) =>
  hookSpan(hook, 'execute_tool', { 'gen_ai.client.tool_name': tool, 'gen_ai.client.tool_use_id': id });

const hookOfMcp = (hook: string, tool: string, server: string) =>
  hookSpan(hook, 'execute_tool', { 'gen_ai.client.mcp_server': server, 'gen_ai.client.mcp_tool': tool });

const hookOfShell = (hook: string) => hookSpan(hook, 'execute_tool', { 'gen_ai.client.command': CONTENT });

const hookOfSubagent = (hook: string) =>
  hookSpan(hook, 'invoke_agent', { 'gen_ai.agent.name': 'explore', 'gen_ai.client.subagent_task': CONTENT });

/** Every hook is a span, with the operation of what it belongs to. */
export const agentHooks: Program = {
  id: 'opentelemetry-hooks',
  framework: 'Coding agents with OpenTelemetry Hook (opentelemetry-hooks)',
  version: 'October 2026',
  source: 'github.com/o11y-dev/opentelemetry-hooks, otel_hook.py',
  setUp: `\`\`\`sh
# pipx install opentelemetry-hooks
export OTEL_EXPORTER_OTLP_ENDPOINT=<Quartermaster's URL>
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
\`\`\`

Use it for agents without telemetry of their own, such as Cursor: an agent that also sends its own telemetry counts twice.`,
  cannotKnow: [
    'There is one span for each turn, not for each call of a model, and few agents give their hooks the tokens.',
    'An agent has a name only if it is a subagent.',
    'The server of an MCP tool may be a command line, which is not read.',
  ],
  scope: 'ide-hooks',
  service: 'ide-agent',
  spans: [
    {
      name: 'gen_ai.client.generation',
      attributes: { 'gen_ai.client.generation_id': 'g1', 'gen_ai.request.model': 'claude-sonnet-5' },
      inside: [
        hookSpan('UserPromptSubmit', 'chat', { 'gen_ai.client.prompt': CONTENT }),
        hookOfTool('PreToolUse', 'Shell', 't1'),
        hookOfShell('BeforeShellExecution'),
        hookOfShell('AfterShellExecution'),
        hookOfTool('PostToolUse', 'Shell', 't1'),
        hookOfTool('PreToolUse', 'MCP:echo', 't2'),
        hookOfMcp('BeforeMCPExecution', 'echo', 'everything'),
        hookOfMcp('AfterMCPExecution', 'echo', 'everything'),
        hookOfTool('PostToolUse', 'MCP:echo', 't2'),
        hookOfTool('PreToolUse', 'MCP:fetch', 't3'),
        hookOfMcp('BeforeMCPExecution', 'fetch', `npx -y ${CONTENT}`),
        hookOfMcp('AfterMCPExecution', 'fetch', `npx -y ${CONTENT}`),
        hookOfTool('PostToolUse', 'MCP:fetch', 't3'),
        // Claude Code's name of a tool, and a call that failed.
        hookOfTool('PreToolUse', 'mcp__everything__get-sum', 't4'),
        hookOfTool('PostToolUseFailure', 'mcp__everything__get-sum', 't4'),
        // The user denied the call.
        hookOfTool('PreToolUse', 'Delete', 't5'),
        hookOfTool('PermissionRequest', 'Delete', 't5'),
        hookOfSubagent('SubagentStart'),
        hookOfSubagent('SubagentStop'),
        hookSpan('Notification', 'chat'),
        hookSpan('Stop', 'chat', { 'gen_ai.usage.input_tokens': 21n, 'gen_ai.usage.output_tokens': 8n }),
      ],
    },
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, failed: 0, inputTokens: 21, outputTokens: 8 }],
  tools: [
    { name: 'Shell', calls: 1, runsAt: 'agent' },
    { name: 'echo', server: 'everything', calls: 1 },
    { name: 'fetch', calls: 1 },
    { name: 'get-sum', server: 'everything', calls: 1, failed: 1 },
  ],
  agents: ['explore'],
};

const cursorHook = (hook: string, operation: string, kind: string, attributes: object = {}) => ({
  name: `cursor.${hook}`,
  attributes: {
    'langsmith.trace.session_id': 'c1',
    'langsmith.metadata.hook_event': hook,
    'langsmith.metadata.user_email': CONTENT,
    'langsmith.metadata.raw_event': CONTENT,
    'langsmith.span.kind': kind,
    'gen_ai.operation.name': operation,
    'gen_ai.request.model': 'claude-sonnet-5',
    'gen_ai.response.model': 'claude-sonnet-5',
    'gen_ai.system': 'anthropic',
    ...attributes,
  },
});

const cursorTool = (hook: string, tool: string) => cursorHook(hook, 'tool', 'tool', { 'gen_ai.tool.name': tool });

export const cursorHooks: Program = {
  id: 'cursor-otel-hook',
  framework: "Cursor with LangGuard's Cursor OTEL Hook",
  version: 'February 2026',
  source: 'github.com/LangGuard-AI/cursor-otel-hook, src/cursor_otel_hook/hook_receiver.py',
  setUp: `In the hook's \`otel_config.json\`, set the protocol \`http/protobuf\`, the endpoint \`<Quartermaster's URL>/v1/traces\` and the
header \`x-api-key: <key>\`.`,
  cannotKnow: [
    'There is one span for each turn, not for each call of a model, and none has tokens.',
    'Only models of Anthropic and OpenAI have a vendor.',
    'An agent has a name only if it is a subagent. No span names the server of a tool.',
  ],
  scope: 'cursor_otel_hook.hook_receiver',
  service: 'cursor-agent',
  spans: [
    cursorHook('beforeSubmitPrompt', 'chat', 'llm', { 'gen_ai.prompt.0.content': CONTENT }),
    cursorTool('preToolUse', 'Shell'),
    cursorTool('beforeShellExecution', 'bash'),
    cursorTool('afterShellExecution', 'bash'),
    cursorTool('postToolUse', 'Shell'),
    cursorTool('preToolUse', 'MCP:echo'),
    cursorTool('beforeMCPExecution', 'everything.echo'),
    cursorTool('afterMCPExecution', 'everything.echo'),
    cursorTool('postToolUse', 'MCP:echo'),
    cursorTool('preToolUse', 'Read'),
    cursorTool('beforeReadFile', 'read_file'),
    cursorTool('postToolUseFailure', 'Read'),
    cursorTool('preToolUse', 'Delete'),
    cursorHook('subagentStart', 'chain', 'chain', { 'langsmith.metadata.subagent_type': 'explore' }),
    cursorHook('subagentStop', 'chain', 'chain', { 'langsmith.metadata.subagent_type': 'explore' }),
    cursorHook('stop', 'unknown', 'chain'),
  ],
  models: [{ name: 'claude-sonnet-5', vendor: 'anthropic', calls: 1, inputTokens: 0, outputTokens: 0 }],
  tools: [
    { name: 'Shell', calls: 1, runsAt: 'agent' },
    { name: 'echo', calls: 1 },
    { name: 'Read', calls: 1, failed: 1, runsAt: 'agent' },
  ],
  agents: ['explore'],
};
