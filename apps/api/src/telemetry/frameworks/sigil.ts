import type { Dialect } from '../reading/dialect.ts';

const OF_JAVASCRIPT = 'github.com/grafana/sigil/sdks/js';

/**
 * Grafana's SDK for AI observability, Sigil or Agento11y (github.com/grafana/sigil-sdk, js/src/client.ts and python/agento11y). It
 * writes OpenTelemetry GenAI. Its wrappers of clients copy the vendor's counts of tokens, its handlers of frameworks those of the
 * framework.
 */
export const sigil: Dialect = {
  name: 'sigil',
  scopes: [/^github\.com\/grafana\/(?:sigil|agento11y)/],
  signature: ['agento11y.*'],
  alsoReads: ['agento11y.framework.run_id'],
  content: ['agento11y.conversation.title', 'gen_ai.embeddings.input_texts'],
  countsOf({ attributes, scope }, { vendor }) {
    if (attributes['agento11y.framework.run_id'] !== undefined) return null;
    return vendor === 'anthropic' || (vendor === 'gcp.gemini' && scope.name === OF_JAVASCRIPT) ? vendor : null;
  },
};
