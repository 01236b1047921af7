import { holdsScopes, type Scope } from '@quartermaster/contracts/scopes.ts';
import { covers, EVERYWHERE, type TenantPlace, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { tenantKey } from '@quartermaster/db/tenant-context.ts';

/** Scopes that a caller holds in one place. */
export type Grant = TenantPlace & { scopes: readonly Scope[] };

/** Who is calling, as their credential proved. */
export type Principal = {
  kind: 'service_account' | 'user';
  /** The account's id, unique in its tenant only, or the user's. */
  id: string;
  /** The tenant of a service account; null for a user. */
  tenantId: string | null;
  scheme: 'api_key' | 'bearer';
  /** The API key's id; null for a bearer token. */
  keyId: string | null;
  /** When that key ends; null: never, or no key. */
  keyExpiresAt: string | null;
  platformAdministrator: boolean;
  /** What a platform administrator holds in every tenant; nothing for others. */
  platformScopes: readonly Scope[];
  /** What the caller holds in their own tenants. */
  grants: readonly Grant[];
  /** Accepted terms; a service account always has. */
  termsAccepted: boolean;
};

/** Where the caller holds `scope` (null: wherever they hold anything). An empty list: nowhere. */
export function reachOf(principal: Principal, scope: Scope | null): TenantScope {
  if (principal.platformAdministrator) {
    return scope === null || holdsScopes(principal.platformScopes, [scope]) ? EVERYWHERE : [];
  }
  const holding = principal.grants.filter((grant) => scope === null || holdsScopes(grant.scopes, [scope]));
  return holding.map(({ tenantId, subTenantId }) => ({ tenantId, subTenantId }));
}

/** All that the caller holds at a place. */
export function scopesAt(principal: Pick<Principal, 'grants' | 'platformScopes'>, place: TenantPlace): Scope[] {
  const here = principal.grants.filter((grant) => covers([grant], place));
  return [...new Set([...principal.platformScopes, ...here.flatMap((grant) => grant.scopes)])];
}

/**
 * For whom the database works where a caller asks: the one tenant that the caller can touch. Users of several tenants or
 * of none, and platform administrators, count alone.
 */
export function tenantOfCaller(principal: Principal): string {
  if (principal.platformAdministrator) return principalName(principal);
  const tenants = new Set(principal.grants.map(({ tenantId }) => tenantId));
  const [only] = tenants;
  const tenantId = principal.tenantId ?? (tenants.size === 1 ? only : undefined);
  return tenantId === undefined ? principalName(principal) : tenantKey(tenantId);
}

/** Whether a user's id is the caller's own. */
export function isSelf(principal: Principal, userId: string): boolean {
  return principal.kind === 'user' && principal.id === userId;
}

/**
 * How tokens and records name a principal: `user:<id>` or `service_account:<tenant>/<id>`, since an account's id is unique
 * in its tenant only.
 */
export function principalName(principal: Pick<Principal, 'kind' | 'id' | 'tenantId'>): string {
  return principal.kind === 'user' ? `user:${principal.id}` : accountName(principal.tenantId ?? '', principal.id);
}

/** The same, of a service account. */
export function accountName(tenantId: string, id: string): string {
  return `service_account:${tenantId}/${id}`;
}
