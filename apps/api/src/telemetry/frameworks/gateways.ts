import type { Dialect } from '../reading/dialect.ts';
import { isModelCall } from '../reading/operations.ts';
import { splitVendorPrefix } from '../reading/vendor-prefix.ts';

/**
 * LiteLLM's proxy and SDK (github.com/BerriAI/litellm, litellm/integrations/opentelemetry.py, and with `LITELLM_OTEL_V2`
 * litellm/integrations/otel). The requested model may be an alias of the proxy's settings.
 */
export const litellm: Dialect = {
  name: 'litellm',
  scopes: ['litellm'],
  signature: ['hidden_params', 'litellm.*'],
  attributes: {
    operation: ['gen_ai.operation.name', 'llm.request.type'],
    model: ['litellm.provider.model', 'gen_ai.request.model'],
    toolServer: ['litellm.mcp.server.name'],
  },
  operations: {
    completion: 'chat',
    acompletion: 'chat',
    text_completion: 'text_completion',
    atext_completion: 'text_completion',
    responses: 'chat',
    aresponses: 'chat',
    embedding: 'embeddings',
    aembedding: 'embeddings',
  },
  content: ['gen_ai.prompt', 'gen_ai.completion', 'hidden_params', 'metadata', 'exception', 'error', 'event_metadata'],
  safe: ['call_type', 'service', 'llm.request.type'],
  refine(_span, facts) {
    splitVendorPrefix(facts);
    // The name of an MCP tool, or of a remote agent, in the place of the model.
    const [, kind, name] = /^(MCP: |a2a_agent\/)(.+)$/.exec(facts.model ?? '') ?? [];
    if (name === undefined) return;
    Object.assign(facts, { model: null, responseModel: null, vendor: null });
    if (kind === 'MCP: ') Object.assign(facts, { operation: 'execute_tool', tool: facts.tool ?? name });
    else Object.assign(facts, { operation: 'invoke_agent', agent: facts.agent ?? name });
  },
  // `raw_gen_ai_request` is the request to the vendor: the same call as the span around it.
  ignored: { name: /^raw_gen_ai_request$/ },
};

/**
 * Bifrost (github.com/maximhq/bifrost, framework/tracing and core/mcp). It writes OpenTelemetry GenAI. Only the span's name names
 * the MCP server of a tool, which is also in front of the tool: `mcp.chat_tool_call.everything`, `everything-echo`.
 */
export const bifrost: Dialect = {
  name: 'bifrost',
  signature: ['bifrost.*'],
  spanNames: [{ pattern: /^mcp\.(?:chat_tool_call|responses_tool_call|execute_tool)\.(?<toolServer>.+)$/ }],
  safe: ['bifrost.provider.name', 'bifrost.request.id'],
  refine(_span, facts) {
    const { tool, toolServer } = facts;
    if (tool === null || toolServer === null) return;
    const prefix = `${toolServer}-`;
    if (tool.startsWith(prefix) && tool !== prefix) facts.tool = tool.slice(prefix.length);
  },
};

/**
 * The spans that OpenRouter itself sends for each request (openrouter.ai/docs/guides/features/broadcast). They name the maker of the
 * model as the provider, but OpenRouter is the provider that is called and paid.
 */
export const openrouter: Dialect = {
  name: 'openrouter',
  scopes: ['openrouter'],
  ignores: ['gen_ai.provider.name', 'gen_ai.system'],
  defaults: { vendor: 'openrouter' },
  content: ['span.input', 'span.output', 'trace.input', 'trace.output'],
};

/**
 * Archestra, a gateway for models and MCP servers with agents of its own (github.com/archestra-ai/archestra,
 * platform/backend/src/observability/tracing). The run of an agent has the operation `chat` and no model. A tool call that a policy
 * blocked has a span like one that ran.
 */
export const archestra: Dialect = {
  name: 'archestra',
  scopes: ['archestra'],
  safe: ['route.category', 'archestra.agent.type', 'archestra.run.id', 'archestra.trigger.source'],
  refine(_span, facts) {
    if (isModelCall(facts.operation) && facts.model === null) facts.operation = 'invoke_agent';
  },
  rejected: { attributes: { 'mcp.blocked': /^true$/ } },
};
