import type { Dialect } from '../reading/dialect.ts';

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
