import { modelServerUrl, telemetryUrl } from '../recorder/program.ts';

/** For Claude Code, also where its Agent SDK runs it. Models and the vendor's own telemetry stay on this machine. */
export const CLAUDE_CODE_WITHOUT_TELEMETRY: Record<string, string> = {
  ANTHROPIC_BASE_URL: modelServerUrl,
  ANTHROPIC_API_KEY: 'sk-ant-scripted',
  ANTHROPIC_MODEL: 'claude-sonnet-5',
  ANTHROPIC_DEFAULT_HAIKU_MODEL: 'claude-haiku-5',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  // Otherwise the model has to search for the tools of MCP servers.
  ENABLE_TOOL_SEARCH: 'false',
  // It runs as root in containers only.
  IS_SANDBOX: '1',
};

/** With its own telemetry. */
export const CLAUDE_CODE: Record<string, string> = {
  ...CLAUDE_CODE_WITHOUT_TELEMETRY,
  CLAUDE_CODE_ENABLE_TELEMETRY: '1',
  OTEL_LOGS_EXPORTER: 'otlp',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  OTEL_EXPORTER_OTLP_ENDPOINT: telemetryUrl,
  OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=recorded',
  OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
};

/** Traces, which are in beta, and metrics. */
export const CLAUDE_CODE_TRACES: Record<string, string> = {
  CLAUDE_CODE_ENHANCED_TELEMETRY_BETA: '1',
  OTEL_TRACES_EXPORTER: 'otlp',
  OTEL_METRICS_EXPORTER: 'otlp',
};

/** Everything that it can be made to say of content. */
export const CLAUDE_CODE_CONTENT: Record<string, string> = {
  OTEL_LOG_USER_PROMPTS: '1',
  OTEL_LOG_ASSISTANT_RESPONSES: '1',
  OTEL_LOG_TOOL_DETAILS: '1',
  OTEL_LOG_TOOL_CONTENT: '1',
  OTEL_LOG_RAW_API_BODIES: '1',
  CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH: '6000',
};

/** All others are left out, so that raw bodies stay small. */
export const BUILT_IN = ['Bash', 'Read', 'WebSearch', 'Agent'];
