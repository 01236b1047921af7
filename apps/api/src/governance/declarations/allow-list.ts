import { type InventoryKind, InventoryKindSchema } from '@quartermaster/contracts/inventory.ts';
import { AllowListSchema } from '@quartermaster/contracts/manifest-specs.ts';
import type { Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { coverageRules } from '@quartermaster/naming/coverage.ts';
import { nameFamily } from '@quartermaster/naming/name-family.ts';
import { declaredKeys, nameKey } from '@quartermaster/naming/name-key.ts';
import { manifestReferences } from '@quartermaster/naming/provider-names.ts';
import { caseFolded } from '@quartermaster/naming/case-folded.ts';
import type { GrantedItem } from '@quartermaster/db/repositories/granted-items.ts';
import { mayNameProvider, type TenantPlace } from '@quartermaster/db/tenancy.ts';

type Name = { text: string; isPrefix: boolean };

/** What a manifest allows: an item is allowed if one of these entries covers it. Null allows everything. */
type AllowList = readonly { provider: string; kind: InventoryKind | null; names: readonly Name[] | null }[] | null;

/** Returns whether an item of a provider is allowed. */
export type Allows = (item: GrantedItem) => boolean;

const EVERYTHING: Allows = () => true;

/** A provider that a gateway lists, with its sub-tenant. */
type ListedProvider = Pick<Provider, 'id' | 'name' | 'aliases' | 'baseUrl' | 'subTenantId'>;

/** What is allowed of one kind: the keys of names grouped by name family, and prefixes of keys. */
type Allowed = { all: boolean; exact: Map<string, Set<string>>; prefixes: Set<string> };

/**
 * What a gateway's manifest allows of a provider. For gateways and channels the limit is `allow`. For an agent it is
 * `declares`: an agent may use what it declares. Without that member there is no limit.
 *
 * The manifest names providers by id, name or alias. The place of a provider controls its names, so names count only if that
 * place also controls the gateway and the manifest. Otherwise a sub-tenant could get around the policy of the whole tenant by
 * renaming its provider.
 *
 * @param manifest null: the gateway has no manifest; undefined: its manifest is deleted, so nothing is allowed
 */
export function allowanceOf(
  gateway: TenantPlace,
  manifest: Manifest | null | undefined,
): (provider: ListedProvider) => Allows {
  if (manifest === null) return () => EVERYTHING;
  const list = manifest === undefined ? [] : allowListOf(manifest);
  if (list === null) return () => EVERYTHING;
  return (provider) => {
    const places = manifest === undefined ? [gateway] : [gateway, manifest];
    const called = manifestReferences(provider, { byName: places.every((place) => mayNameProvider(place, provider)) });
    const allowed = allowedOf(list, called);
    const ruleOf = coverageRules();
    return ({ kind, name }) => {
      const { all, exact, prefixes } = allowed[kind];
      if (all) return true;
      const key = nameKey(kind, name, provider.name);
      const covering = ruleOf(provider, kind);
      // Tools must match exactly: the inventory has their names as the server writes them.
      const covers = (allowedKey: string) =>
        allowedKey === key || (kind === 'model' && covering(allowedKey, key)?.doubtful === false);
      if ([...(exact.get(nameFamily(kind, key)) ?? [])].some(covers)) return true;
      return declaredKeys(kind, key, provider.name).some((one) => beginsWithOne(one, prefixes));
    };
  };
}

function allowListOf({ kind, spec }: Manifest): AllowList {
  if (kind === 'agent') {
    if (spec.declares === undefined) return null;
    return spec.declares.map((declared) => ({ ...declared, names: [{ text: declared.name, isPrefix: false }] }));
  }
  if (spec['allow'] === undefined) return null;
  // Fail closed: a list is meant as a limit, so one that cannot be read allows nothing.
  const { data = [] } = AllowListSchema.safeParse(spec['allow']);
  return data.map(({ provider, kind: ofKind = null, names }) => ({
    provider,
    kind: ofKind,
    names: names?.map(nameOf) ?? null,
  }));
}

function nameOf(text: string): Name {
  return text.endsWith('*') ? { text: text.slice(0, -1), isPrefix: true } : { text, isPrefix: false };
}

/** Uses sets and maps, because thousands of items may be compared with thousands of names. */
function allowedOf(list: NonNullable<AllowList>, called: readonly string[]): Record<InventoryKind, Allowed> {
  const empty = (): Allowed => ({ all: false, exact: new Map(), prefixes: new Set() });
  const allowed = Object.fromEntries(InventoryKindSchema.options.map((kind) => [kind, empty()])) as Record<
    InventoryKind,
    Allowed
  >;
  for (const entry of list) {
    if (!called.includes(caseFolded(entry.provider))) continue;
    for (const kind of entry.kind === null ? InventoryKindSchema.options : [entry.kind]) {
      const ofKind = allowed[kind];
      if (entry.names === null) ofKind.all = true;
      for (const { text, isPrefix } of entry.names ?? []) {
        const key = nameKey(kind, text, null);
        const family = nameFamily(kind, key);
        const names = isPrefix ? ofKind.prefixes : (ofKind.exact.get(family) ?? new Set());
        names.add(key);
        if (!isPrefix) ofKind.exact.set(family, names);
      }
    }
  }
  return allowed;
}

function beginsWithOne(key: string, prefixes: ReadonlySet<string>): boolean {
  if (prefixes.size === 0) return false;
  for (let length = 0; length <= key.length; length += 1) if (prefixes.has(key.slice(0, length))) return true;
  return false;
}
