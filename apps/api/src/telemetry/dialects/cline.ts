import type { Dialect } from './dialect.ts';
import { FUNCTION_NAMES } from './function-names.ts';

/**
 * Cline (github.com/cline/cline, src/services/telemetry/TelemetryService.ts). It sends log records only. A tool of an MCP server
 * is reported by an event of its own, and as `use_mcp_tool`.
 */
export const cline: Dialect = {
  name: 'cline',
  scopes: ['cline'],
  vendors: { cline: null, 'openai-native': 'openai', 'vscode-lm': null },
  names: FUNCTION_NAMES,
  agentTools: ['*'],
  content: ['errorMessage', 'argumentKeys', 'context'],
  alsoReads: ['success', 'status', 'source'],
  refine({ name, attributes }, facts) {
    const hasFailed = attributes['success'] === false || attributes['status'] === 'error';
    if (hasFailed || name === 'task.provider_api_error') facts.errorType ??= 'error';
  },
  logs: {
    'task.conversation_turn': {
      operation: 'chat',
      attributes: { vendor: ['provider'], model: ['model'], inputTokens: ['tokensIn'], outputTokens: ['tokensOut'] },
      counts: ({ attributes }) => attributes['source'] === 'assistant',
    },
    'task.provider_api_error': { operation: 'chat', attributes: { vendor: ['provider'], model: ['model'] } },
    'task.tool_used': {
      operation: 'execute_tool',
      attributes: { tool: ['tool'] },
      counts: ({ attributes }) => attributes['tool'] !== 'use_mcp_tool',
    },
    'task.mcp_tool_called': {
      operation: 'execute_tool',
      attributes: { tool: ['toolName'], toolServer: ['serverName'] },
      counts: ({ attributes }) => attributes['status'] !== 'started',
    },
  },
};
