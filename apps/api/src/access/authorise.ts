import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { narrowed, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { ApiError } from '../errors.ts';
import { isSelf, type Principal, reachOf } from './principal.ts';

/**
 * Refuses callers without credentials (401), and those who hold the operation's scope nowhere (403). REST asks this
 * before it reads a body, so that a stranger learns nothing from how a body is refused.
 *
 * @param raw the input as sent: `path` tells whether users address their own record.
 * @returns `own`: the operation is about the caller's own records, wherever they are
 */
export function authorise(
  operation: Operation,
  principal: Principal | null,
  raw: unknown,
): { principal: Principal; reach: TenantScope; own: boolean } {
  if (principal === null) {
    throw new ApiError('credentials_missing', 'Send a bearer token in Authorization, or an API key in X-API-Key.', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
  if (!principal.termsAccepted && !operation.beforeTerms) {
    throw termsRequired();
  }
  const scope = operation.scope === 'public' ? null : operation.scope;
  const own = scope === null || isOwnRecord(operation, principal, raw);
  const reach = reachOf(principal, own ? null : scope);
  if (scope !== null && reach.length === 0 && !own) {
    throw scopeMissing(scope, 'This operation');
  }
  return { principal, reach, own };
}

/** What is open before the terms are accepted is open for that alone. */
export function termsRequired(): ApiError {
  return new ApiError('terms_required', 'Accept the terms first: PUT /v1/me/profile with terms.accepted true.');
}

/** RFC 6750, section 3.1. */
export function scopeMissing(scope: Scope, what: string): ApiError {
  return new ApiError('scope_missing', `${what} needs the scope ${scope}.`, {
    scope,
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}

/** Refuses everybody else (403). */
export function requirePlatformAdministrator({ principal }: { principal: Principal }): void {
  if (principal.platformAdministrator) return;
  throw new ApiError('platform_administrator_required', 'Only platform administrators may do this.');
}

/** The id of the user who calls. Refuses service accounts (403). */
export function requireUserCaller({ principal }: { principal: Principal }): string {
  if (principal.kind === 'user') return principal.id;
  throw new ApiError('user_required', 'This is for users: send a bearer token instead of an API key.');
}

/** Refuses an input that names a tenant or sub-tenant out of reach (403), in its query or its body. */
export function refuseForeignTenants(reach: TenantScope, raw: unknown): void {
  const query = member(raw, 'query');
  const body = member(raw, 'body');
  refuseForeign(reach, member(query, 'tenant_id'), member(query, 'sub_tenant_id'));
  refuseForeign(reach, member(body, 'tenantId'), member(body, 'subTenantId'));
}

function refuseForeign(reach: TenantScope, tenantId: unknown, subTenantId: unknown): void {
  const tenant = typeof tenantId === 'string' && tenantId !== '' ? tenantId : null;
  const subTenant = typeof subTenantId === 'string' && subTenantId !== '' ? subTenantId : null;
  if (tenant === null && subTenant === null) return;
  const within = narrowed(reach, { tenantId: tenant, subTenantId: subTenant });
  if (within.length === 0)
    throw new ApiError('tenant_forbidden', 'The tenant or sub-tenant named is out of your reach.');
}

function isOwnRecord(operation: Operation, principal: Principal, raw: unknown): boolean {
  if (operation.ownId === undefined) return false;
  const id = member(member(raw, 'path'), operation.ownId);
  return typeof id === 'string' && isSelf(principal, id);
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Record<string, unknown>)[key];
}
