import type { Dialect } from '../reading/dialect.ts';
import { asCount } from '../reading/fact-slots.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';

/** The event of the SDK that has the tokens of a call. Its input excludes cached tokens. */
const TOKENS = 'task.tokens';

/**
 * Cline (github.com/cline/cline, src/services/telemetry/TelemetryService.ts), and its SDK, which later versions are built on
 * (sdk/packages/core/src/services/telemetry). It sends log records only. A tool of an MCP server is reported by an event of its own,
 * and as `use_mcp_tool`. The SDK writes it as `<server>__<tool>`, and the tokens of a call in an event of their own.
 */
export const cline: Dialect = {
  name: 'cline',
  scopes: ['cline'],
  vendors: { cline: null, 'openai-compatible': null, 'openai-native': 'openai', 'vscode-lm': null },
  names: FUNCTION_NAMES,
  agentTools: ['*'],
  mcpTools: 'server__tool',
  content: ['errorMessage', 'error_message', 'argumentKeys', 'context'],
  alsoReads: ['success', 'status', 'source', 'operation', 'agentKind', 'cacheReadTokens', 'cacheWriteTokens'],
  refine({ name, attributes }, facts) {
    const hasFailed = attributes['success'] === false || attributes['status'] === 'error';
    if (hasFailed || name === 'task.provider_api_error') facts.errorType ??= 'error';
    if (name === TOKENS && facts.inputTokens !== null) {
      const { cacheReadTokens, cacheWriteTokens } = attributes;
      facts.inputTokens += (asCount(cacheReadTokens) ?? 0) + (asCount(cacheWriteTokens) ?? 0);
    }
  },
  logs: {
    'task.conversation_turn': {
      operation: 'chat',
      attributes: { vendor: ['provider'], model: ['model'], inputTokens: ['tokensIn'], outputTokens: ['tokensOut'] },
      counts: ({ attributes }) => attributes['source'] === 'assistant',
    },
    'task.provider_api_error': { operation: 'chat', attributes: { vendor: ['provider'], model: ['model'] } },
    [TOKENS]: {
      operation: 'chat',
      attributes: { vendor: ['provider'], model: ['model'], inputTokens: ['tokensIn'], outputTokens: ['tokensOut'] },
      // Without the SDK, they are also in the turn.
      counts: ({ attributes }) => attributes['agentKind'] !== undefined,
      tokensOnly: () => true,
    },
    'sdk.error': {
      operation: 'chat',
      attributes: { vendor: ['providerId'], model: ['modelId'], errorType: ['error_type'] },
      isCommonName: true,
      counts: ({ attributes }) => attributes['operation'] === 'provider.stream',
    },
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
