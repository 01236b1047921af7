import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import type { Facts } from './facts.ts';

/** Splits LiteLLM's `openai/gpt-5-mini`. Only a known vendor is removed, and only if the span names no other vendor. */
export function splitVendorPrefix(facts: Facts, separator: '/' | ':' = '/'): void {
  const [prefix = '', ...rest] = (facts.model ?? '').split(separator);
  const model = rest.join(separator);
  if (model === '') return;
  const vendor = canonicalVendor(prefix);
  if (vendor === null || (facts.vendor !== null && facts.vendor !== vendor)) return;
  facts.vendor = vendor;
  facts.model = model;
}

/**
 * Splits `anthropic.messages:claude-sonnet-5`, a model of the AI SDK as the OpenAI Agents SDK names it. Exporters of that SDK
 * write OpenAI as the vendor of every model.
 */
export function splitProviderOfAiSdk(facts: Facts): void {
  const [, prefix = '', model = null] = /^([^:]+):(.+)$/.exec(facts.model ?? '') ?? [];
  if (!PROVIDER_OF_AI_SDK.test(prefix)) return;
  const vendor = canonicalVendor(prefix);
  if (vendor !== null) Object.assign(facts, { vendor, model });
}

/**
 * Splits `openai:gpt-5-mini`, as any-llm and provider registries name models, unless it may be a model of Ollama with its tag:
 * `mistral:7b`.
 */
export function splitVendorWithColon(facts: Facts): void {
  const [, tag] = /^[\w.-]+:(.+)$/.exec(facts.model ?? '') ?? [];
  if (tag !== undefined && !TAG_OF_OLLAMA.test(tag)) splitVendorPrefix(facts, ':');
}

const TAG_OF_OLLAMA = /^(?:v?\d|(?:chat|cloud|instruct|latest|text)$)/;

/** Most of them have a dot in their names. Ollama's models have a tag, and some the name of a vendor: `mistral:7b`. */
const PROVIDER_OF_AI_SDK = /\.|^(?:amazon-bedrock|perplexity)$/;
