import type { Dialect } from './dialect.ts';
import { splitVendorPrefix } from './vendor-prefix.ts';

/** LiteLLM's proxy and SDK (github.com/BerriAI/litellm, litellm/integrations/opentelemetry.py). */
export const litellm: Dialect = {
  name: 'litellm',
  scopes: ['litellm'],
  signature: ['hidden_params', 'litellm.*'],
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
  refine: (_span, facts) => splitVendorPrefix(facts),
  // `raw_gen_ai_request` is the request to the vendor: the same call as the span around it.
  uses: ({ name }, _facts, usual) => (name === 'raw_gen_ai_request' ? [] : usual),
};
