import { type InventoryKind, InventoryKindSchema } from '@quartermaster/contracts/inventory.ts';
import { AllowListSchema } from '@quartermaster/contracts/manifest-specs.ts';
import type { Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Provider } from '@quartermaster/contracts/providers.ts';
import { coveringAt, nameFamily } from '@quartermaster/db/name-family.ts';
import { declaredKeys, nameKey } from '@quartermaster/db/name-key.ts';
import { calledNames } from '@quartermaster/db/provider-names.ts';
import { folded } from '@quartermaster/db/queries.ts';
import type { GrantedItem } from '@quartermaster/db/repositories/granted-items.ts';
import { mayNameProvider, type TenantPlace } from '@quartermaster/db/tenancy.ts';

type Name = { text: string; isPrefix: boolean };

/** What a manifest allows: whatever one of these covers. Null stands for everything. */
type AllowList = readonly { provider: string; kind: InventoryKind | null; names: readonly Name[] | null }[] | null;

/** Whether something that a provider offers is allowed. */
export type Allows = (item: GrantedItem) => boolean;

const EVERYTHING: Allows = () => true;

/** A provider that a gateway lists, and where it stands. */
type ListedProvider = Pick<Provider, 'id' | 'name' | 'aliases' | 'baseUrl' | 'subTenantId'>;

/** What is allowed of one kind: the keys of names by their families, and the beginnings of keys. */
type Allowed = { all: boolean; exact: Map<string, Set<string>>; prefixes: Set<string> };

/**
 * What a gateway's manifest allows of a provider. `allow` of gateways and channels limits, and so does `declares` of an
 * agent, which may use what it says it uses; where they are left out, there is no limit.
 *
 * The manifest calls providers by id, name or alias. A provider's names are in the hands of its place, so they count only if that
 * place has a say over the gateway and over the manifest: otherwise a sub-tenant would pass the policy of the whole tenant
 * by renaming its provider.
 *
 * @param manifest null: the gateway runs under none; undefined: under one that is gone, which allows nothing
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
    const called = places.every((place) => mayNameProvider(place, provider))
      ? [...calledNames(provider), provider.id]
      : [provider.id];
    const allowed = allowedOf(list, called);
    return ({ kind, name }) => {
      const { all, exact, prefixes } = allowed[kind];
      if (all) return true;
      const key = nameKey(kind, name, provider.name);
      const covering = coveringAt(provider, kind);
      // Tools are allowed by exactly their names: an inventory has them as their server writes them.
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
  // Specs were free once: a list that cannot be read was meant to limit, and allows nothing.
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

/** Sets, since thousands of items may meet thousands of names. */
function allowedOf(list: NonNullable<AllowList>, called: readonly string[]): Record<InventoryKind, Allowed> {
  const empty = (): Allowed => ({ all: false, exact: new Map(), prefixes: new Set() });
  const allowed = Object.fromEntries(InventoryKindSchema.options.map((kind) => [kind, empty()])) as Record<
    InventoryKind,
    Allowed
  >;
  for (const entry of list) {
    if (!called.includes(folded(entry.provider))) continue;
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
