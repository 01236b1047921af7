import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';

const API = /:(?:completions|responses)$/;

/**
 * Mirascope, version 2 (github.com/Mirascope/mirascope, python/mirascope/ops/_internal, typescript/src/ops/_internal). A model has
 * the id of its provider in front, and may have OpenAI's API behind: `openai/gpt-5-mini:responses`. A traced function that returns an
 * answer of a model repeats the call. It is the only span of the call if the calls of models are not instrumented.
 */
export const mirascope: Dialect = {
  name: 'mirascope',
  scopes: ['mirascope.llm', 'mirascope.ops'],
  signature: ['mirascope.*'],
  attributes: {
    vendor: ['gen_ai.provider.name', 'gen_ai.system', 'mirascope.response.provider_id'],
    model: ['gen_ai.request.model', 'mirascope.response.model_id'],
    inputTokens: ['gen_ai.usage.input_tokens', 'mirascope.response.usage#input_tokens'],
    outputTokens: ['gen_ai.usage.output_tokens', 'mirascope.response.usage#output_tokens'],
  },
  vendors: { 'anthropic-beta': 'anthropic', 'openai:completions': 'openai', 'openai:responses': 'openai' },
  content: [
    'mirascope.response.content',
    'mirascope.response.messages',
    'mirascope.trace.arg_values',
    'mirascope.trace.metadata',
    'mirascope.trace.output',
  ],
  safe: ['mirascope.type', 'mirascope.fn.qualname', 'mirascope.fn.module'],
  alsoReads: ['mirascope.type'],
  refine({ attributes }, facts) {
    // The answer that is continued. The new call has a span of its own.
    if (attributes['mirascope.type'] === 'response_resume') facts.model = null;
    const provider = asText(
      attributes['gen_ai.provider.name'] ?? attributes['gen_ai.system'] ?? attributes['mirascope.response.provider_id'],
    );
    const prefix = `${provider.replace(API, '')}/`;
    facts.model = nameOf(facts.model, prefix);
    facts.responseModel = nameOf(facts.responseModel, prefix);
  },
};

/** The vendor's name of a model, from the id that Mirascope gives it. */
function nameOf(id: string | null, prefix: string): string | null {
  return id?.startsWith(prefix) === true ? id.slice(prefix.length).replace(API, '') || null : id;
}
