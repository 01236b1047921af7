import { canonicalVendor } from '@quartermaster/naming/vendors.ts';

/** The vendor that a model's name names, and how: `notation` is a form of name that only this vendor's API accepts. */
type NamedVendor = { vendor: string; by: 'prefix' | 'notation' };

/** In front of the ids of Bedrock: where an inference profile sends the requests. */
const ROUTE = String.raw`(?:us|us-gov|eu|apac|ap|jp|au|ca|sa|me|af|global)\.`;

/** Forms of names that only one API accepts. */
const NOTATIONS: readonly (readonly [RegExp, string])[] = [
  // `us.anthropic.claude-sonnet-4-6`, `amazon.nova-pro-v1:0`, `arn:aws:bedrock:...`
  [new RegExp(`^${ROUTE}(?:ai21|amazon|anthropic|cohere|deepseek|meta|mistral|writer)\\.`, 'i'), 'aws.bedrock'],
  [new RegExp(`^(?:${ROUTE})?[a-z\\d]+\\.[\\w.-]+-v\\d+:\\d+(?::\\d+k)?$`, 'i'), 'aws.bedrock'],
  [/^arn:aws[\w-]*:bedrock:/i, 'aws.bedrock'],
  [/^projects\/[^/]+\/locations\/[^/]+\//i, 'gcp.vertex_ai'],
  [/^accounts\/fireworks\/models\//i, 'fireworks'],
];

/** The names of models that only their makers, or resellers with names of their own, serve. Open models run anywhere. */
const CLOSED_MODELS: readonly (readonly [RegExp, string])[] = [
  [/^(?:gpt-\d|chatgpt-|o[134](?:-|$)|text-embedding-(?:3|ada)-|dall-e-)/i, 'openai'],
  [/^claude-/i, 'anthropic'],
  [/^gemini-/i, 'gcp.gen_ai'],
  [/^grok-/i, 'x_ai'],
];

/**
 * The vendor that a model's name makes likely, for a call of which nothing else is known. Null for open models and unknown names.
 */
export function likelyVendor(model: string): string | null {
  const named = vendorOfModel(model);
  if (named?.by === 'notation') return named.vendor;
  const [, maker = null] = CLOSED_MODELS.find(([pattern]) => pattern.test(model.replace(/^.*[/:]/, ''))) ?? [];
  return maker && (named?.vendor ?? maker);
}

/**
 * The vendor in a model's name, as routers and their clients write it: `anthropic/claude-sonnet-4-5` (LiteLLM, OpenRouter),
 * `openai:gpt-5` (Pydantic AI, LangChain), Bedrock's and Vertex AI's ids. Null if the name names no known vendor. Names on
 * Hugging Face have the same form (`openai/gpt-oss-20b`), so the prefix alone does not prove whose API was called.
 */
export function vendorOfModel(model: string): NamedVendor | null {
  const notation = NOTATIONS.find(([pattern]) => pattern.test(model));
  if (notation) return { vendor: notation[1], by: 'notation' };
  const vendor = canonicalVendor(/^([\w.-]{2,40})[/:]./.exec(model)?.[1] ?? '');
  return vendor === null ? null : { vendor, by: 'prefix' };
}
