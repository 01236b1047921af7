import type { Dialect } from '../reading/dialect.ts';

const API = 'com.anthropic.claude-platform';

/**
 * The spans that Anthropic's SDKs write themselves (@anthropic-ai/sdk from 0.134, src/internal/tracing.ts): OpenTelemetry
 * GenAI, with the vendor also on the spans of tools and of the SDK's tool loop. That loop runs tools of the application and of MCP
 * servers, which may have the names of the vendor's tools.
 *
 * Anthropic's API exports spans with the same names (platform.claude.com/docs/en/api/opentelemetry/spans). It runs the tools that it
 * reports.
 */
export const anthropicSdk: Dialect = {
  name: 'anthropic-sdk',
  scopes: [/^com\.anthropic\.sdk(\.|$)/, API],
  attributes: {
    toolServer: ['anthropic.toolset.name'],
    inputTokens: ['gen_ai.usage.input_tokens'],
  },
  content: ['anthropic.tool_result.content', 'gen_ai.request.stop_sequences', 'gen_ai.tool.description'],
  safe: [
    'anthropic.request.id',
    'anthropic.organization.id',
    'anthropic.workspace.id',
    'anthropic.session.id',
    'anthropic.session.thread.id',
    'anthropic.session.environment.id',
    'anthropic.environment.id',
    'anthropic.environment.work.id',
    'anthropic.request.service_tier',
    'anthropic.response.service_tier',
    'anthropic.thinking.type',
    'anthropic.message.stop_reason',
    'anthropic.beta',
    'gen_ai.request.reasoning.level',
  ],
  refine({ scope }, facts) {
    if (scope.name === API && facts.tool !== null && facts.toolServer === null) facts.toolRunsAt = 'vendor';
  },
  // Counting the tokens of a request is not a model call.
  ignored: { name: /^anthropic\.messages\.count_tokens$/ },
};
