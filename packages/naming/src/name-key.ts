import { caseFolded } from './case-folded.ts';
import type { Kind } from './kinds.ts';

/**
 * The key that all variants of a name share. A model is written in any case, and with or without its provider's name as a
 * prefix (`openai/gpt-5`, `GPT-5` at the provider openai), as routers such as LiteLLM and OpenRouter do. Another vendor's
 * prefix is part of the name: `meta-llama/llama-3` and `llama-3` may differ. The key of a tool, agent, prompt or resource is
 * exactly its name.
 *
 * @param providerName null: no prefix is removed
 */
export function nameKey(kind: Kind, name: string, providerName: string | null): string {
  if (kind !== 'model') return name;
  const prefixes = providerName === null ? [] : ownPrefixes(providerName);
  let key = caseFolded(name);
  for (let prefix = prefixOf(key, prefixes); prefix !== undefined; prefix = prefixOf(key, prefixes)) {
    key = key.slice(prefix.length + 1);
  }
  return key;
}

/**
 * A name for display: a model's name without its own provider's prefix, even a repeated one. Its key equals the key of the
 * whole name.
 */
export function plainName(kind: Kind, name: string, providerName: string | null): string {
  if (kind !== 'model') return name;
  const prefixes = providerName === null ? [] : ownPrefixes(providerName);
  let plain = name;
  for (;;) {
    const prefix = prefixOf(caseFolded(plain), prefixes);
    const slash = prefix === undefined ? -1 : indexOfSlashAfter(plain, prefix);
    if (slash === -1) return plain;
    plain = plain.slice(slash + 1);
  }
}

/** The keys by which a manifest may declare a key: with and without the provider's prefix. */
export function declaredKeys(kind: Kind, key: string, providerName: string): string[] {
  if (kind !== 'model') return [key];
  return [key, ...ownPrefixes(providerName).map((prefix) => `${prefix}/${key}`)];
}

/**
 * The prefixes that routers write for providers whose name in the OpenTelemetry conventions differs. Stored keys depend on
 * them, so a change needs a migration. All other spellings (see vendors.ts) are compared when declarations are looked up.
 */
const ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ['aws.bedrock', ['bedrock', 'aws']],
  ['azure.ai.inference', ['azure_ai', 'azure']],
  ['azure.ai.openai', ['azure', 'azure_openai']],
  ['gcp.gemini', ['gemini', 'google', 'models']],
  ['gcp.gen_ai', ['gemini', 'google', 'models']],
  ['gcp.vertex_ai', ['vertex_ai', 'vertexai', 'google']],
  ['ibm.watsonx.ai', ['watsonx']],
  ['mistral_ai', ['mistral', 'mistralai']],
  ['moonshot_ai', ['moonshot', 'moonshotai']],
  ['x_ai', ['xai', 'x-ai']],
]);

/** The case-folded prefixes of a provider's models that are not part of their keys. */
export function ownPrefixes(providerName: string): readonly string[] {
  const name = caseFolded(providerName);
  return [name, ...(ALIASES.get(name) ?? [])];
}

/** The prefix of a case-folded name. A prefix needs a slash and something after it. */
function prefixOf(key: string, prefixes: readonly string[]): string | undefined {
  return prefixes.find((prefix) => key.length > prefix.length + 1 && key.startsWith(`${prefix}/`));
}

/** The index of the slash after a prefix in the original name. -1 if only case folding turned a character into one (`／`). */
function indexOfSlashAfter(name: string, prefix: string): number {
  for (let slash = name.indexOf('/'); slash !== -1; slash = name.indexOf('/', slash + 1)) {
    const before = caseFolded(name.slice(0, slash));
    if (before === prefix) return slash;
    if (before.length > prefix.length) return -1;
  }
  return -1;
}
