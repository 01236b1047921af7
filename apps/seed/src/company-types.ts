import type { InventoryItem, Provider, Role } from '@quartermaster/client';

type InventoryKind = InventoryItem['kind'];

export type Place = { tenantId: string; subTenantId?: string };

export type Person = Place & { email: string; name: string; role: Role; state: 'accepted' | 'invited' | 'disabled' };

/** The items that are used, by the provider's name. Each entry is `<kind> <name>`. */
export type Uses = Readonly<Record<string, readonly `${InventoryKind} ${string}`[]>>;

/** A service account whose key sends spans. `uses` are the items in its spans, declared or not. */
export type Agent = Place & {
  id: string;
  about: string;
  expiresInDays?: number;
  uses: Uses;
  /** The environments in which it runs: production, if it does not say so. A notebook names none. */
  environments?: readonly (string | null)[];
};

/** The names that a provider offers, by kind. */
export type Offered = { [Kind in InventoryKind]?: readonly string[] };

export type DeclaredProvider = Place & {
  name: string;
  displayName: string;
  kind: Provider['kind'];
  baseUrl?: string;
  status?: 'active' | 'disabled' | 'deleted';
  offers?: Offered;
};

export type DeclaredGateway = Place & {
  name: string;
  providers: readonly string[];
  manifest?: string;
  status?: 'disabled';
  /** Agents that get a session. If there are several, the last session is revoked. */
  sessions: readonly string[];
};

export type Use = { provider: string; kind: InventoryKind; name: string };

export function listUses(uses: Uses): Use[] {
  return Object.entries(uses).flatMap(([provider, entries]) =>
    entries.map((entry) => {
      const [kind = '', name = ''] = entry.split(' ');
      return { provider, kind: kind as InventoryKind, name };
    }),
  );
}
