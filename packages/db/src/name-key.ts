import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import { folded } from './queries.ts';

/**
 * The key under which the variants of one name are one. Models are called in any case, and with or without their
 * provider's name in front (`openai/gpt-5`, `GPT-5` at the provider openai); routers such as LiteLLM and OpenRouter
 * write them so. Another vendor's prefix is part of the name: `meta-llama/llama-3` and `llama-3` may differ. Tools,
 * agents, prompts and resources are called by exactly their names.
 *
 * @param providerName null: no prefix is the provider's
 */
export function nameKey(kind: InventoryKind, name: string, providerName: string | null): string {
  if (kind !== 'model') return name;
  const prefixes = providerName === null ? [] : ownPrefixes(providerName);
  let key = folded(name);
  for (let prefix = prefixOf(key, prefixes); prefix !== undefined; prefix = prefixOf(key, prefixes)) {
    key = key.slice(prefix.length + 1);
  }
  return key;
}

/**
 * A name as it is shown: a model's without its own provider in front, however often it stands there. Its key is that of
 * the whole name.
 */
export function plainName(kind: InventoryKind, name: string, providerName: string | null): string {
  if (kind !== 'model') return name;
  const prefixes = providerName === null ? [] : ownPrefixes(providerName);
  let plain = name;
  for (;;) {
    const prefix = prefixOf(folded(plain), prefixes);
    const slash = prefix === undefined ? -1 : slashBehind(plain, prefix);
    if (slash === -1) return plain;
    plain = plain.slice(slash + 1);
  }
}

/** The keys by which a manifest may declare what has this key: with and without the provider's name in front. */
export function declaredKeys(kind: InventoryKind, key: string, providerName: string): string[] {
  if (kind !== 'model') return [key];
  return [key, ...ownPrefixes(providerName).map((prefix) => `${prefix}/${key}`)];
}

/**
 * What routers put before a model's name where the convention's name of the provider is another. Stored keys are made with
 * these: a change needs a migration. All further spellings (see vendors.ts) are compared when declarations are looked up.
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

/** What stands before the names of a provider's models and is not part of their keys, case-folded. */
export function ownPrefixes(providerName: string): readonly string[] {
  const name = folded(providerName);
  return [name, ...(ALIASES.get(name) ?? [])];
}

/** The prefix that a folded name begins with; a slash that nothing follows ends none. */
function prefixOf(key: string, prefixes: readonly string[]): string | undefined {
  return prefixes.find((prefix) => key.length > prefix.length + 1 && key.startsWith(`${prefix}/`));
}

/** Where the slash behind a prefix stands in a name as it is written; -1 where folding alone makes one of it (`／`). */
function slashBehind(name: string, prefix: string): number {
  for (let slash = name.indexOf('/'); slash !== -1; slash = name.indexOf('/', slash + 1)) {
    const before = folded(name.slice(0, slash));
    if (before === prefix) return slash;
    if (before.length > prefix.length) return -1;
  }
  return -1;
}
