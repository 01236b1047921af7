import type { Kind } from './kinds.ts';
import { type Coverage, type ModelName, modelCoverage, parseModelName } from './model-name.ts';
import { rewrittenName } from './name-family.ts';
import { modelPrefixes, type NamedProvider } from './provider-names.ts';

/** Says how a declared name covers an observed one, at one provider and kind. */
export type CoverageRule = (declaredKey: string, seenKey: string) => Coverage | null;

const EXACT: Coverage = { exactness: Number.MAX_SAFE_INTEGER, doubtful: false };

/** The coverage rule of a provider and kind. Names are keys as nameKey makes them, with or without the provider's prefix. */
export function coverageRuleOf(provider: NamedProvider, kind: Kind): CoverageRule {
  if (kind === 'model') {
    // Built lazily, since most names are declared exactly as they are observed.
    let prefixes: string[] | undefined;
    // Each name is parsed once, because a family may have thousands of names that are compared with each other.
    const parsed = new Map<string, ModelName>();
    const parse = (key: string) => {
      prefixes ??= modelPrefixes(provider);
      const name = parsed.get(key) ?? parseModelName(key, prefixes);
      parsed.set(key, name);
      return name;
    };
    return (declared, seen) => (declared === seen ? EXACT : modelCoverage(parse(declared), parse(seen)));
  }
  // Each name is rewritten once, for the same reason.
  const rewritten = new Map<string, { rewritten: string; underscored: string }>();
  const formsOf = (key: string) => {
    const forms = rewritten.get(key) ?? { rewritten: rewrittenName(key), underscored: withUnderscores(key) };
    rewritten.set(key, forms);
    return forms;
  };
  return (declared, seen) => {
    if (declared === seen) return EXACT;
    if (kind !== 'tool') return null;
    const [one, other] = [formsOf(declared), formsOf(seen)];
    if (one.rewritten !== other.rewritten) return null;
    // Tools whose names differ in case may be different tools.
    return { exactness: 0, doubtful: one.underscored !== other.underscored };
  };
}

/** Returns a function that makes the coverage rules of providers, each one once. Use one function for each batch of names. */
export function coverageRules(): (provider: NamedProvider & { id: string }, kind: Kind) => CoverageRule {
  const rules = new Map<string, CoverageRule>();
  return (provider, kind) => {
    const key = `${kind} ${provider.id}`;
    const rule = rules.get(key) ?? coverageRuleOf(provider, kind);
    rules.set(key, rule);
    return rule;
  };
}

function withUnderscores(name: string): string {
  return name.replaceAll(/[^\p{L}\p{N}]/gu, '_');
}
