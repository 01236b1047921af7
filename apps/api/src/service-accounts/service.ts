import type {
  CreatedServiceAccount,
  CreateServiceAccountInput,
  ServiceAccount,
  UpdateServiceAccountInput,
} from '@quartermaster/contracts/service-accounts.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { newId } from '@quartermaster/db/ids.ts';
import { revokeKeysOfAccount } from '@quartermaster/db/repositories/credentials.ts';
import { revokeSessionsOf } from '@quartermaster/db/repositories/gateway-sessions.ts';
import {
  findServiceAccounts,
  insertServiceAccount,
  type ServiceAccountChange,
  updateServiceAccount,
} from '@quartermaster/db/repositories/service-accounts.ts';
import { ensurePlace } from '@quartermaster/db/repositories/tenants.ts';
import { EVERYWHERE, type TenantScope } from '@quartermaster/db/tenancy.ts';
import { requirePlatformAdministrator } from '../access/authorise.ts';
import { existingPlace, placeOfBody, scopeOfQuery, type TenancyQuery } from '../access/places.ts';
import { accountName } from '../access/principal.ts';
import { type Change, changedFields, write } from '../audit-events/write.ts';
import { ApiError, whenTaken } from '../errors.ts';
import type { CallerContext } from '../trpc.ts';

export async function createServiceAccount(
  ctx: CallerContext,
  body: CreateServiceAccountInput,
): Promise<CreatedServiceAccount> {
  const place = placeOfBody(ctx, body);
  if (body.platformAdministrator) requirePlatformAdministrator(ctx);
  return write(ctx, async (trx, record, now) => {
    const { createTenant, ...fields } = body;
    if (createTenant === 'never') await existingPlace(ctx, trx, body);
    const made = await ensurePlace(trx, place, now);
    if (createTenant === 'always' && !made.includes('tenant')) {
      throw new ApiError('tenant_exists', `The tenant ${JSON.stringify(place.tenantId)} exists.`);
    }
    if (made.includes('tenant')) record({ place, target: { type: 'tenant', id: place.tenantId } });
    if (made.includes('sub_tenant')) record({ place, target: { type: 'sub_tenant', id: place.subTenantId ?? '' } });
    await ctx.services.tenantLimits.add(trx, place.tenantId, 'serviceAccounts');
    const { name, status, platformAdministrator, displayName = null, description = null } = body;
    const id = body.id ?? newId('sa', now);
    const values = { id, name, status, platformAdministrator, displayName, description, metadata: body.metadata ?? {} };
    const account = await insertServiceAccount(trx, place, values, now).catch(
      whenTaken('id_taken', `The id ${JSON.stringify(id)} is taken in this tenant, or was.`),
    );
    record({ place, target: { type: 'service_account', id }, changed: Object.keys(fields) });
    return { ...account, alsoCreated: made };
  });
}

export async function changeServiceAccount(
  ctx: CallerContext,
  id: string,
  query: TenancyQuery,
  body: UpdateServiceAccountInput,
): Promise<ServiceAccount> {
  return write(ctx, async (trx, record, now) => {
    const scope = scopeOfQuery(ctx, query);
    const account = await requireTouchable(ctx, trx, scope, id);
    return applyChange({ trx, record, now, scope, account }, withMetadata(body));
  });
}

/** A service account's own profile (PUT /v1/me/profile): needs no scope. */
export async function updateServiceAccountProfile(
  ctx: CallerContext,
  body: UpdateServiceAccountInput,
): Promise<ServiceAccount> {
  const scope = ownTenant(ctx);
  return write(ctx, async (trx, record, now) => {
    const account = await ownServiceAccount(ctx, trx);
    return applyChange({ trx, record, now, scope, account }, withMetadata(body));
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
  return write(ctx, async (trx, record, now) => {
    const scope = scopeOfQuery(ctx, query);
    const account = await requireTouchable(ctx, trx, scope, id);
    const inTenant = [{ tenantId: account.tenantId, subTenantId: null }];
    if (status !== 'active') await revokeSessionsOf(trx, EVERYWHERE, accountName(account.tenantId, id), now);
    if (status === 'deleted') await revokeKeysOfAccount(trx, inTenant, account, now);
    return applyChange({ trx, record, now, scope, account }, { status });
  });
}

/** The one account that an id names in `scope`. @throws 404, and 409 where it stands in several tenants */
export async function requireServiceAccount(
  db: Database,
  scope: TenantScope,
  id: string,
  now: Date,
): Promise<ServiceAccount> {
  const [account, second] = await findServiceAccounts(db, scope, id, now);
  if (!account) {
    throw new ApiError('service_account_not_found', 'No service account of this id in your reach.');
  }
  if (second) throw new ApiError('ambiguous_id', 'Several tenants have an account of this id: say which by tenant_id.');
  return account;
}

/** The same, for a write: only platform administrators touch a platform administrator's account and keys. */
export async function requireTouchable(
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
  trx: Database;
  record: (change: Change) => void;
  now: Date;
  scope: TenantScope;
  account: ServiceAccount;
};

async function applyChange(update: Update, change: ServiceAccountChange): Promise<ServiceAccount> {
  const { trx, record, now, scope, account } = update;
  const changed = changedFields(account, change);
  if (changed.length === 0) return account;
  const updated = await updateServiceAccount(trx, scope, account, change, now);
  if (!updated) throw new Error('the account vanished within its transaction');
  record({ place: account, target: { type: 'service_account', id: account.id }, changed });
  return updated;
}

/** Null clears: of the metadata an empty object is left. */
function withMetadata({ displayName, description, metadata }: UpdateServiceAccountInput): ServiceAccountChange {
  return {
    ...(displayName !== undefined && { displayName }),
    ...(description !== undefined && { description }),
    ...(metadata !== undefined && { metadata: metadata ?? {} }),
  };
}
