import type { Operation } from '@quartermaster/contracts/operation.ts';
import { holdsScopes } from '@quartermaster/contracts/scopes.ts';
import { narrowed, type TenantPlace } from '@quartermaster/db/tenancy.ts';
import { authorise } from '../access/authorise.ts';
import { type Grant, type Principal, scopesAt } from '../access/principal.ts';

type Asked = {
  operation: Operation;
  /** Null: a stranger's, of a public operation. */
  principal: Principal | null;
  raw: { path: unknown; query: unknown; body: unknown };
};

/** What a caller held where a write was done: who holds less by now may not hear its answer again. */
export type Standing = { platformAdministrator: boolean; rights: readonly Grant[] };

/**
 * What the caller holds at the place of the answer, or, where it names none, at all places that the request may have been
 * about. Null for strangers, and for what callers do with their own records, wherever those are.
 */
export function standingOf({ operation, principal, raw }: Asked, output: unknown): Standing | null {
  if (principal === null || operation.scope === 'public' || authorise(operation, principal, raw).own) return null;
  const { platformAdministrator } = principal;
  const place = placeOf(output);
  if (place) return { platformAdministrator, rights: [{ ...place, scopes: scopesAt(principal, place) }] };
  const named = { tenantId: namedTenant(raw), subTenantId: null };
  const rights = principal.grants.filter((grant) => narrowed([grant], named).length > 0);
  return { platformAdministrator, rights };
}

/** Whether the caller holds all of it still. */
export function stillStands(principal: Principal | null, standing: Standing | null): boolean {
  if (standing === null) return true;
  if (principal === null || (standing.platformAdministrator && !principal.platformAdministrator)) return false;
  return standing.rights.every((right) => holdsScopes(scopesAt(principal, right), right.scopes));
}

/** Where the record stands that is answered; records of a tenant name it, and their sub-tenant where they can have one. */
function placeOf(output: unknown): TenantPlace | null {
  if (typeof output !== 'object' || output === null) return null;
  const { tenantId, subTenantId } = output as { tenantId?: unknown; subTenantId?: unknown };
  if (typeof tenantId !== 'string') return null;
  return { tenantId, subTenantId: typeof subTenantId === 'string' ? subTenantId : null };
}

function namedTenant({ path, query, body }: Asked['raw']): string | null {
  const named = [textIn(path, 'tenant_id'), textIn(query, 'tenant_id'), textIn(body, 'tenantId')];
  return named.find((text) => text !== null) ?? null;
}

/** Empty is omitted. */
function textIn(part: unknown, name: string): string | null {
  if (typeof part !== 'object' || part === null || !Object.hasOwn(part, name)) return null;
  const value = (part as Record<string, unknown>)[name];
  return typeof value === 'string' && value !== '' ? value : null;
}
