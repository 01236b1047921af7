export type ItemKind = 'tool' | 'model' | 'prompt' | 'resource' | 'agent';

/** Something that an agent wants to use. `provider` is an id, a name or an alias. */
export type Use = { provider: string; kind: ItemKind; name: string };

/** In `observe` everything is allowed, and the service counts what it would deny. */
export type Mode = 'observe' | 'enforce';

export type Decision = {
  allowed: boolean;
  /** Whether the gateway would deny it in the mode `enforce`. */
  wouldDeny: boolean;
  mode: Mode;
  /** Why it is denied, or would be: `not_in_inventory`, `blocked`, `manifest` and others. */
  reason: string | null;
  /** The observation that an operator reviews to allow it. */
  observationId: string | null;
  reviewUrl: string | null;
};

export type KnownProvider = {
  id: string;
  name: string;
  aliases: readonly string[];
  items: readonly { kind: string; name: string }[];
};

/** A provider in the claim `grants` of a session token. */
export type Grant = {
  providerId: string;
  providerName: string;
  items: readonly { kind: string; name: string }[];
};

type Names = ReadonlyMap<string, ReadonlySet<string>>;

/** The exact names that a session may use, for look-ups without a request. */
export class Access {
  /** The names of a provider by kind. Null for a name that two providers have: only the service can say which one is meant. */
  readonly #providers = new Map<string, Names | null>();

  constructor(providers: readonly KnownProvider[]) {
    for (const { id, name, aliases, items } of providers) {
      const names = namesByKind(items);
      for (const key of new Set([id, name, ...aliases]))
        this.#providers.set(key, this.#providers.has(key) ? null : names);
    }
  }

  has({ provider, kind, name }: Use): boolean {
    return this.#providers.get(provider)?.get(kind)?.has(name) === true;
  }
}

export function accessOfGrants(grants: readonly Grant[]): Access {
  return new Access(
    grants.map(({ providerId, providerName, items }) => ({ id: providerId, name: providerName, aliases: [], items })),
  );
}

function namesByKind(items: KnownProvider['items']): Names {
  const kinds = new Map<string, Set<string>>();
  for (const { kind, name } of items) {
    const names = kinds.get(kind);
    if (names === undefined) kinds.set(kind, new Set([name]));
    else names.add(name);
  }
  return kinds;
}
