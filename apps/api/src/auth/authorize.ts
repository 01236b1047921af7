import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { Scope } from '@quartermaster/contracts/scopes.ts';
import { narrowScope, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { ApiError } from '../platform/errors.ts';
import { ownMember } from '../platform/own-member.ts';
import { isSelf, type Principal, reachOf } from './principal.ts';

/** What a caller may do with an operation. */
export type Rights = {
  principal: Principal;
  /** Where the caller holds the operation's scope. */
  reach: TenantScope;
  /** Whether the operation is about the caller's own records, in any place. */
  concernsOwnRecords: boolean;
};

/**
 * The caller's rights for an operation. Called before the body is read, so that callers without rights learn nothing from
 * validation errors.
 *
 * @param raw the input as sent; `path` shows whether users address their own record
 * @throws 401 without credentials; 403 if the caller holds the operation's scope nowhere
 */
export function requireRights(operation: Operation, caller: Principal | null, raw: unknown): Rights {
  const principal = requireCaller(operation, caller);
  const scope = operation.scope === 'public' ? null : operation.scope;
  const concernsOwnRecords = scope === null || isOwnRecord(operation, principal, raw);
  const reach = reachOf(principal, concernsOwnRecords ? null : scope);
  if (scope !== null && reach.length === 0 && !concernsOwnRecords) {
    throw scopeMissing(scope, 'This operation');
  }
  return { principal, reach, concernsOwnRecords };
}

/**
 * The checks of {@link requireRights} that do not need the input. Over tRPC the whole input of a write is in its body, and
 * callers without rights must not learn how the body is refused.
 *
 * @throws 401 without credentials; 403 if the caller holds the operation's scope nowhere, unless the input may name their own
 *   record
 */
export function requireRightsBeforeInput(operation: Operation, principal: Principal | null): void {
  if (operation.ownIdParameter === undefined) requireRights(operation, principal, {});
  else requireCaller(operation, principal);
}

function requireCaller(operation: Operation, principal: Principal | null): Principal {
  if (principal === null) {
    throw new ApiError('credentials_missing', 'Send a bearer token in Authorization, or an API key in X-API-Key.', {
      headers: { 'WWW-Authenticate': 'Bearer' },
    });
  }
  if (!principal.termsAccepted && !operation.allowedBeforeTerms) {
    throw termsRequired();
  }
  return principal;
}

/** The 403 for users who have not accepted the terms: until then they can only accept them. */
export function termsRequired(): ApiError {
  return new ApiError(
    'terms_required',
    'Accept the terms first: send PUT /v1/me/profile with terms.accepted set to true.',
  );
}

/** The 403 for a missing scope (RFC 6750, section 3.1). @param what what needs the scope */
export function scopeMissing(scope: Scope, what: string): ApiError {
  return new ApiError('scope_missing', `${what} needs the scope ${scope}.`, {
    scope,
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}

/** @throws 403 for other callers */
export function requirePlatformAdministrator({ principal }: { principal: Principal }): void {
  if (principal.platformAdministrator) return;
  throw new ApiError('platform_administrator_required', 'Only platform administrators may do this.');
}

/** The id of the calling user. @throws 403 for service accounts */
export function requireUserCaller({ principal }: { principal: Principal }): string {
  if (principal.kind === 'user') return principal.id;
  throw new ApiError('user_required', 'Only users may do this. Send a bearer token instead of an API key.');
}

/** @throws 403 if the query or the body names a tenant or sub-tenant out of the caller's reach */
export function requireTenantsInReach(reach: TenantScope, raw: unknown): void {
  const query = ownMember(raw, 'query');
  const body = ownMember(raw, 'body');
  requireInReach(reach, ownMember(query, 'tenant_id'), ownMember(query, 'sub_tenant_id'));
  requireInReach(reach, ownMember(body, 'tenantId'), ownMember(body, 'subTenantId'));
}

function requireInReach(reach: TenantScope, tenantId: unknown, subTenantId: unknown): void {
  const tenant = typeof tenantId === 'string' && tenantId !== '' ? tenantId : null;
  const subTenant = typeof subTenantId === 'string' && subTenantId !== '' ? subTenantId : null;
  if (tenant === null && subTenant === null) return;
  const within = narrowScope(reach, { tenantId: tenant, subTenantId: subTenant });
  if (within.length === 0) throw new ApiError('tenant_forbidden', 'This tenant or sub-tenant is outside your reach.');
}

function isOwnRecord(operation: Operation, principal: Principal, raw: unknown): boolean {
  if (operation.ownIdParameter === undefined) return false;
  const id = ownMember(ownMember(raw, 'path'), operation.ownIdParameter);
  return typeof id === 'string' && isSelf(principal, id);
}
