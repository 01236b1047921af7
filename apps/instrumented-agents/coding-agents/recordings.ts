import type { RecordingDefinition } from '../recorder/definition.ts';

const ENDPOINT = `OTEL_EXPORTER_OTLP_ENDPOINT=https://quartermaster.example.com
export OTEL_EXPORTER_OTLP_HEADERS="x-api-key=<key of a service account with traces:write>"`;

/** Also for the Agent SDK, which runs Claude Code with the environment of its process. */
const CLAUDE_CODE = `export CLAUDE_CODE_ENABLE_TELEMETRY=1
export OTEL_LOGS_EXPORTER=otlp
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export ${ENDPOINT}`;

const CLAUDE_CODE_TRACES = `${CLAUDE_CODE}
export CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1
export OTEL_TRACES_EXPORTER=otlp`;

const COPILOT = `export ${ENDPOINT}`;

const QWEN_CODE = `\`\`\`sh
# ~/.qwen/settings.json: { "telemetry": { "enabled": true, "target": "local", "otlpProtocol": "http",
#   "otlpEndpoint": "https://quartermaster.example.com", "logPrompts": false } }
export OTEL_EXPORTER_OTLP_HEADERS="x-api-key=<key of a service account with traces:write>"
qwen
\`\`\``;

const HIDDEN_SEARCH = 'asks a model that has the vendor’s search, but no span or log record shows the search.';

export const recordings: RecordingDefinition[] = [
  {
    name: 'claude-code',
    framework: 'Claude Code',
    packages: ['@anthropic-ai/claude-code'],
    program: 'claude-code.ts',
    dialects: ['claude-code'],
    setUp: shell(`${CLAUDE_CODE_TRACES}\nclaude`),
    cannotKnow: [`The tool WebSearch ${HIDDEN_SEARCH}`],
  },
  {
    name: 'claude-code-events',
    framework: 'Claude Code, events only',
    packages: ['@anthropic-ai/claude-code'],
    program: 'claude-code.ts',
    args: ['events'],
    dialects: ['claude-code'],
    setUp: shell(`${CLAUDE_CODE}\nexport OTEL_LOG_TOOL_DETAILS=1 # names of MCP tools and of agents\nclaude`),
    cannotKnow: [
      `The tool WebSearch ${HIDDEN_SEARCH}`,
      'Without OTEL_LOG_TOOL_DETAILS every tool of an MCP server is called mcp_tool in log records, and its server is not named.',
      'Without OTEL_LOG_TOOL_DETAILS every agent that a user has defined is called custom.',
    ],
  },
  {
    name: 'claude-code-detailed',
    framework: 'Claude Code, detailed traces',
    packages: ['@anthropic-ai/claude-code'],
    program: 'claude-code.ts',
    args: ['detailed'],
    dialects: ['claude-code'],
    setUp: shell(
      `${CLAUDE_CODE_TRACES}\nexport ENABLE_BETA_TRACING_DETAILED=1\nexport BETA_TRACING_ENDPOINT=https://quartermaster.example.com\nclaude`,
    ),
    cannotKnow: [`The tool WebSearch ${HIDDEN_SEARCH}`],
  },
  {
    name: 'claude-code-session',
    framework: 'Claude Code, a continued session with three models, MCP over HTTP and a hook that rejects a tool',
    packages: ['@anthropic-ai/claude-code'],
    program: 'claude-code-session.ts',
    mcpOverHttp: true,
    dialects: ['claude-code'],
    setUp: shell(`${CLAUDE_CODE_TRACES}\nexport OTEL_LOG_TOOL_DETAILS=1\nclaude`),
    cannotKnow: [`The tool WebSearch ${HIDDEN_SEARCH}`],
  },
  {
    name: 'claude-code-bedrock',
    framework: 'Claude Code with Amazon Bedrock',
    packages: ['@anthropic-ai/claude-code'],
    program: 'claude-code.ts',
    args: ['bedrock'],
    dialects: ['claude-code'],
    setUp: shell(`${CLAUDE_CODE_TRACES}\nexport OTEL_LOG_TOOL_DETAILS=1\nexport CLAUDE_CODE_USE_BEDROCK=1\nclaude`),
  },
  {
    name: 'claude-agent-sdk',
    framework: 'Claude Agent SDK',
    packages: ['@anthropic-ai/claude-agent-sdk'],
    program: 'claude-agent-sdk.ts',
    dialects: ['claude-code'],
    setUp: shell(`${CLAUDE_CODE_TRACES}\nexport OTEL_SERVICE_NAME=weather-service # otherwise claude-code`),
    cannotKnow: [`The tool WebSearch ${HIDDEN_SEARCH}`],
  },
  {
    name: 'anthropic-sdk',
    framework: 'Anthropic SDK',
    packages: ['@anthropic-ai/sdk'],
    program: 'anthropic-sdk.ts',
    dialects: ['anthropic-sdk'],
    setUp: `\`\`\`ts
// The SDK makes spans as soon as a tracer provider is registered.
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

// With OTEL_EXPORTER_OTLP_ENDPOINT=https://quartermaster.example.com and OTEL_EXPORTER_OTLP_HEADERS=x-api-key=<key>
new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] }).register();
\`\`\``,
    cannotKnow: ['Spans of MCP tools do not name the server: such a tool belongs to the provider that declares it.'],
  },
  {
    name: 'codex',
    framework: 'Codex CLI',
    packages: ['@openai/codex'],
    program: 'codex.ts',
    dialects: ['codex'],
    setUp: `\`\`\`toml
# ~/.codex/config.toml
[otel]
exporter = { otlp-http = { endpoint = "https://quartermaster.example.com/v1/logs", protocol = "binary", headers = { "x-api-key" = "<key>" } } }
trace_exporter = { otlp-http = { endpoint = "https://quartermaster.example.com/v1/traces", protocol = "binary", headers = { "x-api-key" = "<key>" } } }
metrics_exporter = "none"
\`\`\``,
    cannotKnow: [
      'codex exec ends at once when a turn fails, and does not send what it has collected.',
      'With trace_exporter alone: tokens are on other spans than models, and attempts that are repeated share one span.',
    ],
  },
  {
    name: 'gemini-cli',
    framework: 'Gemini CLI',
    packages: ['@google/gemini-cli'],
    program: 'gemini-cli.ts',
    dialects: ['gemini-cli'],
    setUp: `\`\`\`sh
# It reads the headers from the environment; with otlpProtocol grpc, the default, the endpoint has port 4317.
export GEMINI_TELEMETRY_ENABLED=true
export GEMINI_TELEMETRY_OTLP_PROTOCOL=http
export GEMINI_TELEMETRY_OTLP_ENDPOINT=https://quartermaster.example.com
export OTEL_EXPORTER_OTLP_HEADERS="x-api-key=<key of a service account with traces:write>"
export GEMINI_TELEMETRY_LOG_PROMPTS=false
gemini
\`\`\``,
    cannotKnow: [`The tool google_web_search ${HIDDEN_SEARCH}`],
  },
  {
    name: 'opencode',
    framework: 'opencode',
    packages: ['opencode-ai'],
    program: 'opencode.ts',
    dialects: ['opencode'],
    setUp: shell(
      `# ~/.config/opencode/opencode.json: { "experimental": { "openTelemetry": true } }\nexport ${ENDPOINT}\nopencode`,
    ),
    cannotKnow: [
      'opencode run ends without sending the spans of the last seconds. opencode serve and the terminal interface send them.',
    ],
  },
  {
    name: 'qwen-code',
    framework: 'Qwen Code',
    packages: ['@qwen-code/qwen-code'],
    program: 'qwen-code.ts',
    dialects: ['genai'],
    setUp: QWEN_CODE,
  },
  {
    name: 'qwen-code-denied',
    framework: 'Qwen Code without permissions',
    packages: ['@qwen-code/qwen-code'],
    program: 'qwen-code.ts',
    args: ['denied'],
    dialects: ['genai'],
    setUp: QWEN_CODE,
  },
  {
    name: 'copilot-cli',
    framework: 'GitHub Copilot CLI',
    packages: ['@github/copilot'],
    program: 'copilot-cli.ts',
    dialects: ['copilot'],
    setUp: shell(`${COPILOT}\ncopilot`),
    cannotKnow: [
      'Names of MCP servers and of their tools are SHA-256 hashes: those of servers and tools that nobody has declared stay hashes.',
    ],
  },
  {
    name: 'copilot-cli-content',
    framework: 'GitHub Copilot CLI, with content',
    packages: ['@github/copilot'],
    program: 'copilot-cli.ts',
    args: ['content'],
    dialects: ['copilot'],
    setUp: shell(`${COPILOT}\nexport OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true\ncopilot`),
  },
  {
    name: 'vscode-copilot-chat',
    framework: 'GitHub Copilot Chat in VS Code',
    packages: [],
    version: 'written by hand after its documentation and the source of 0.59',
    program: 'vscode-copilot-chat.ts',
    dialects: ['copilot'],
    setUp: shell(`export COPILOT_OTEL_ENABLED=true\nexport ${ENDPOINT}\ncode .`),
    cannotKnow: ['Names of MCP servers are SHA-256 hashes, unless content is captured.'],
  },
];

function shell(script: string): string {
  return `\`\`\`sh\n${script}\n\`\`\``;
}
