import type {
  CreatedServiceAccount,
  CreateServiceAccountInput,
  ServiceAccount,
  UpdateServiceAccountInput,
} from '@quartermaster/contracts/service-accounts.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { revokeKeysOfAccount } from '@quartermaster/db/repositories/credentials.ts';
import { revokeSessionsOfPrincipal } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  findServiceAccounts,
  insertServiceAccount,
  type ServiceAccountChange,
  updateServiceAccount,
} from '@quartermaster/db/repositories/service-accounts.ts';
import { ensurePlace, findMissingPlace } from '@quartermaster/db/repositories/tenants.ts';
import { EVERYWHERE, type TenantScope, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { requirePlatformAdministrator } from '../../auth/authorize.ts';
import { existingPlace, placeOfBody, scopeOfQuery, type TenancyQuery } from '../../auth/places.ts';
import { accountName } from '../../auth/principal.ts';
import { auditedWrite, type AuditedChange, changedFields } from '../../platform/audit/audited-write.ts';
import { ApiError, duplicateKeyAs } from '../../platform/errors.ts';
import type { CallerContext } from '../../auth/context.ts';

export async function createServiceAccount(
  ctx: CallerContext,
  body: CreateServiceAccountInput,
): Promise<CreatedServiceAccount> {
  const place = placeOfBody(ctx, body);
  if (body.platformAdministrator) requirePlatformAdministrator(ctx);
  return auditedWrite(ctx, async (trx, record, now) => {
    const { createTenant, ...fields } = body;
    if (createTenant === 'never') await existingPlace(ctx, trx, body);
    const { tenantLimits } = ctx.services;
    if (place.subTenantId !== null && (await findMissingPlace(trx, place)) !== null) {
      await tenantLimits.addRecord(trx, place.tenantId, { resource: 'subTenants', content: place.subTenantId });
    }
    const created = await ensurePlace(trx, place, now);
    if (created === null) {
      throw new ApiError(
        'tenant_deleted',
        `The tenant ${JSON.stringify(place.tenantId)} was deleted. Its id is never used again.`,
      );
    }
    if (createTenant === 'always' && !created.includes('tenant')) {
      throw new ApiError('tenant_exists', `The tenant ${JSON.stringify(place.tenantId)} already exists.`);
    }
    if (created.includes('tenant')) record({ place, target: { type: 'tenant', id: place.tenantId } });
    if (created.includes('sub_tenant')) record({ place, target: { type: 'sub_tenant', id: place.subTenantId ?? '' } });
    await tenantLimits.addRecord(trx, place.tenantId, { resource: 'serviceAccounts', content: body });
    const { name, status, platformAdministrator, displayName = null, description = null } = body;
    const id = body.id ?? newId('sa', now);
    const values = { id, name, status, platformAdministrator, displayName, description, metadata: body.metadata ?? {} };
    const account = await insertServiceAccount(trx, place, values, now).catch(
      duplicateKeyAs('id_taken', `The id ${JSON.stringify(id)} is or was already used in this tenant.`),
    );
    record({
      place,
      target: { type: 'service_account', id },
      changed: { fields: Object.keys(fields), before: null, after: account },
    });
    return { ...account, alsoCreated: created };
  });
}

export async function changeServiceAccount(
  ctx: CallerContext,
  id: string,
  query: TenancyQuery,
  body: UpdateServiceAccountInput,
): Promise<ServiceAccount> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const scope = scopeOfQuery(ctx, query);
    const account = await requireChangeableAccount(ctx, trx, scope, id);
    return applyChange({ ctx, trx, record, now, scope, account }, withMetadata(body));
  });
}

/** Changes the calling service account's own profile (PUT /v1/me/profile). Needs no scope. */
export async function updateServiceAccountProfile(
  ctx: CallerContext,
  body: UpdateServiceAccountInput,
): Promise<ServiceAccount> {
  const scope = ownTenant(ctx);
  return auditedWrite(ctx, async (trx, record, now) => {
    const account = await ownServiceAccount(ctx, trx);
    return applyChange({ ctx, trx, record, now, scope, account }, withMetadata(body));
  });
}

/** The service account that calls. */
export function ownServiceAccount(ctx: CallerContext, db: Database): Promise<ServiceAccount> {
  return requireServiceAccount(db, ownTenant(ctx), ctx.principal.id, ctx.services.now());
}

export async function setServiceAccountStatus(
  ctx: CallerContext,
  id: string,
  query: TenancyQuery,
  status: ServiceAccount['status'],
): Promise<ServiceAccount> {
  return auditedWrite(ctx, async (trx, record, now) => {
    const scope = scopeOfQuery(ctx, query);
    const account = await requireChangeableAccount(ctx, trx, scope, id);
    const inTenant = wholeTenant(account.tenantId);
    if (status !== 'active') await revokeSessionsOfPrincipal(trx, EVERYWHERE, accountName(account.tenantId, id), now);
    if (status === 'deleted') await revokeKeysOfAccount(trx, inTenant, account, now);
    return applyChange({ ctx, trx, record, now, scope, account }, { status });
  });
}

/** The account that an id names in `scope`. @throws 404; 409 if several tenants have one of this id */
export async function requireServiceAccount(
  db: Database,
  scope: TenantScope,
  id: string,
  now: Date,
): Promise<ServiceAccount> {
  const [account, second] = await findServiceAccounts(db, scope, id, now);
  if (!account) {
    throw new ApiError('service_account_not_found', 'There is no service account with this id in your reach.');
  }
  if (second)
    throw new ApiError('ambiguous_id', 'Several tenants have an account with this id. Choose one with tenant_id.');
  return account;
}

/**
 * The account that an id names in `scope`, for a change of the account or its keys. Only platform administrators may change
 * those of a platform administrator.
 *
 * @throws 403, 404, 409
 */
export async function requireChangeableAccount(
  ctx: CallerContext,
  db: Database,
  scope: TenantScope,
  id: string,
): Promise<ServiceAccount> {
  const account = await requireServiceAccount(db, scope, id, ctx.services.now());
  if (account.platformAdministrator) requirePlatformAdministrator(ctx);
  return account;
}

function ownTenant({ principal }: CallerContext): TenantScope {
  return [{ tenantId: principal.tenantId, subTenantId: null }];
}

type Update = {
  ctx: CallerContext;
  trx: Database;
  record: (change: AuditedChange) => void;
  now: Date;
  scope: TenantScope;
  account: ServiceAccount;
};

async function applyChange(update: Update, change: ServiceAccountChange): Promise<ServiceAccount> {
  const { ctx, trx, record, now, scope, account } = update;
  const changed = changedFields(account, change);
  if (changed.length === 0) return account;
  await ctx.services.tenantLimits.changeRecord(trx, account.tenantId, { before: account, change, changed });
  const updated = await updateServiceAccount(trx, scope, account, change, now);
  if (!updated) throw new Error('the account vanished within its transaction');
  record({
    place: account,
    target: { type: 'service_account', id: account.id },
    changed: { fields: changed, before: account, after: updated },
  });
  return updated;
}

/** Null clears metadata: they become an empty object. */
function withMetadata({ displayName, description, metadata }: UpdateServiceAccountInput): ServiceAccountChange {
  return {
    ...(displayName !== undefined && { displayName }),
    ...(description !== undefined && { description }),
    ...(metadata !== undefined && { metadata: metadata ?? {} }),
  };
}
