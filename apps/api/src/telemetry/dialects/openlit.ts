import { addCacheOfAnthropic } from './cached-tokens.ts';
import type { Dialect } from './dialect.ts';
import { addReasoningOfGoogle } from './reasoning-tokens.ts';

/** OpenLIT (github.com/openlit/openlit, sdk/typescript/src and sdk/python/src/openlit, semantic_convention). */
export const openlit: Dialect = {
  name: 'openlit',
  scopes: [/^@openlit\//, /^openlit(\.|$)/],
  signature: ['openlit.*', 'gen_ai.request.is_stream'],
  attributes: { mcpMethod: ['mcp.method.name', 'mcp.operation.name', 'mcp.method'] },
  operations: { framework: null, vectordb: null, workflow: null, graph: null, agent: 'invoke_agent' },
  wrappers: ['framework', 'workflow', 'graph', 'agent'],
  content: [
    'gen_ai.tool.args',
    'gen_ai.tool.input',
    'gen_ai.tool.output',
    'gen_ai.content',
    'gen_ai.request.user',
    'gen_ai.agent.description',
    'gen_ai.agent.goal',
    'gen_ai.agent.instructions',
    'gen_ai.agent.task',
    'gen_ai.framework.query',
    'db.statement',
    'db.documents',
    'db.metadata',
    'db.filter',
  ],
  safe: ['gen_ai.sdk.version', 'openai.api.type', 'openai.response.service_tier', 'openlit.agent.version_hash'],
  refine(span, facts) {
    if (/instrumentation-(?:anthropic|bedrock)$/.test(span.scope.name)) addCacheOfAnthropic(span.attributes, facts);
    if (span.scope.name === '@openlit/instrumentation-google-ai') addReasoningOfGoogle(span.attributes, facts);
    // The instrumentation of MCP for Python writes `tools_call` for `tools/call`.
    facts.mcpMethod = facts.mcpMethod?.replace(/^(tools|resources|prompts)_/, '$1/') ?? null;
    // The span of a model call names the tools that the model asked for. They run later, or never.
    if (facts.operation === 'execute_tool' || facts.mcpMethod !== null) return;
    facts.tool = null;
    const response = span.attributes['gen_ai.response.id'];
    facts.callId = typeof response === 'string' ? response : null;
  },
};
