import { holdsScopes, type Scope } from '@quartermaster/contracts/scopes.ts';
import { covers, EVERYWHERE, type TenantPlace, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { tenantKey } from '@quartermaster/db/tenant-context.ts';

/** The scopes that a caller holds at one place. */
export type Grant = TenantPlace & { scopes: readonly Scope[] };

/** Who is calling, as the credential proved. */
export type Principal = {
  kind: 'service_account' | 'user';
  /** The user's id, or the account's id, which is unique only in its tenant. */
  id: string;
  /** The tenant of a service account; null for a user. */
  tenantId: string | null;
  scheme: 'api_key' | 'bearer' | 'session';
  /** The API key's id; null for other credentials. */
  keyId: string | null;
  /** When the API key expires; null: never, or no key. */
  keyExpiresAt: string | null;
  /** The console session of the request's cookie; null for other credentials. */
  session: { id: string; expiresAt: string } | null;
  platformAdministrator: boolean;
  /** Whether a claim of the token or session makes the user a platform administrator. Another administrator cannot take this away. */
  administratorByClaim: boolean;
  /** The scopes that a platform administrator holds in every tenant; empty for others. */
  platformScopes: readonly Scope[];
  /** The scopes that the caller holds in their own tenants. */
  grants: readonly Grant[];
  /** Always true for a service account. */
  termsAccepted: boolean;
};

/** The places where the caller holds `scope`, or any scope if it is null. May be empty. */
export function reachOf(principal: Principal, scope: Scope | null): TenantScope {
  if (principal.platformAdministrator) {
    return scope === null || holdsScopes(principal.platformScopes, [scope]) ? EVERYWHERE : [];
  }
  const holding = principal.grants.filter((grant) => scope === null || holdsScopes(grant.scopes, [scope]));
  return holding.map(({ tenantId, subTenantId }) => ({ tenantId, subTenantId }));
}

/** All scopes that the caller holds at a place. */
export function scopesAt(principal: Pick<Principal, 'grants' | 'platformScopes'>, place: TenantPlace): Scope[] {
  const here = principal.grants.filter((grant) => covers([grant], place));
  return [...new Set([...principal.platformScopes, ...here.flatMap((grant) => grant.scopes)])];
}

/** The places where the caller holds all of some scopes. May be empty. */
export function reachOfAll(principal: Principal, scopes: readonly Scope[]): TenantScope {
  if (holdsScopes(principal.platformScopes, scopes)) return EVERYWHERE;
  const holding = principal.grants.filter((grant) => holdsScopes(scopesAt(principal, grant), scopes));
  return holding.map(({ tenantId, subTenantId }) => ({ tenantId, subTenantId }));
}

/**
 * The name under which the database counts a caller's work: the caller's only tenant. Platform administrators and users of
 * several tenants or none are counted by themselves.
 */
export function tenantOfCaller(principal: Principal): string {
  const tenantId = onlyTenantOf(principal);
  return tenantId === null ? principalName(principal) : tenantKey(tenantId);
}

/** The only tenant that a caller belongs to. Null for platform administrators, and for users of several tenants or none. */
export function onlyTenantOf(principal: Principal): string | null {
  if (principal.platformAdministrator) return null;
  if (principal.tenantId !== null) return principal.tenantId;
  const only = principal.grants[0]?.tenantId ?? null;
  return principal.grants.every(({ tenantId }) => tenantId === only) ? only : null;
}

/** The tenants in which a user has a membership, in the order of their ids. Empty for service accounts. */
export function tenantsOfUser({ kind, grants }: Principal): string[] {
  return kind === 'user' ? [...new Set(grants.map(({ tenantId }) => tenantId))].toSorted() : [];
}

/** Whether a user's id is the caller's own. */
export function isSelf(principal: Principal, userId: string): boolean {
  return principal.kind === 'user' && principal.id === userId;
}

/**
 * The name of a principal in tokens and records: `user:<id>` or `service_account:<tenant>/<id>`, because an account's id is
 * unique only in its tenant.
 */
export function principalName(principal: Pick<Principal, 'kind' | 'id' | 'tenantId'>): string {
  return principal.kind === 'user' ? `user:${principal.id}` : accountName(principal.tenantId ?? '', principal.id);
}

/** The name of a service account in tokens and records. */
export function accountName(tenantId: string, id: string): string {
  return `service_account:${tenantId}/${id}`;
}
