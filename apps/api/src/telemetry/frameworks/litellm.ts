import type { Dialect } from '../reading/dialect.ts';
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
