import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import { narrowScope, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import type { RawInput } from '../messages/query.ts';
import { type Grant, type Principal, scopesAt } from '../../auth/principal.ts';
import { ownMember } from '../../platform/own-member.ts';

type Asked = {
  /** Null: an anonymous caller of a public operation. */
  principal: Principal | null;
  raw: RawInput;
  /** The operation is public, or about the caller's own records. */
  isOwn: boolean;
};

/** What a caller held at the place of a write. A caller who holds less now does not get the stored answer. */
export type CallerRights = { platformAdministrator: boolean; rights: readonly Grant[] };

/**
 * What the caller holds at the place of the answered record; if the answer names no place, at every place that the request
 * may be about. Null for anonymous callers, and for operations on the caller's own records.
 */
export function callerRightsOf({ principal, raw, isOwn }: Asked, output: unknown): CallerRights | null {
  if (principal === null || isOwn) return null;
  const { platformAdministrator } = principal;
  const place = placeOf(output);
  if (place) return { platformAdministrator, rights: [{ ...place, scopes: scopesAt(principal, place) }] };
  const named = { tenantId: namedTenant(raw), subTenantId: null };
  const rights = principal.grants.filter((grant) => narrowScope([grant], named).length > 0);
  return { platformAdministrator, rights };
}

/** Whether the caller still holds all of them. */
export function stillHolds(principal: Principal | null, rights: CallerRights | null): boolean {
  if (rights === null) return true;
  if (principal === null || (rights.platformAdministrator && !principal.platformAdministrator)) return false;
  return rights.rights.every((right) => holdsScopes(scopesAt(principal, right), right.scopes));
}

/** The place of the answered record. Records of a tenant contain its id, and the sub-tenant's if they can have one. */
function placeOf(output: unknown): TenantPlace | null {
  if (typeof output !== 'object' || output === null) return null;
  const { tenantId, subTenantId } = output as { tenantId?: unknown; subTenantId?: unknown };
  if (typeof tenantId !== 'string') return null;
  return { tenantId, subTenantId: typeof subTenantId === 'string' ? subTenantId : null };
}

function namedTenant({ path, query, body }: RawInput): string | null {
  const named = [textIn(path, 'tenant_id'), textIn(query, 'tenant_id'), textIn(body, 'tenantId')];
  return named.find((text) => text !== null) ?? null;
}

/** The empty string counts as absent. */
function textIn(part: unknown, name: string): string | null {
  const value = ownMember(part, name);
  return typeof value === 'string' && value !== '' ? value : null;
}
