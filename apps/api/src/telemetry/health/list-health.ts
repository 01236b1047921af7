import type { ServiceAccount } from '@quartermaster/contracts/service-accounts.ts';
import type { TelemetryHealth } from '@quartermaster/contracts/telemetry-health.ts';
import { findKeyTelemetry, type StoredKeyTelemetry } from '@quartermaster/db/repositories/account-telemetry.ts';
import { findKey } from '@quartermaster/db/repositories/credentials.ts';
import { searchServiceAccounts } from '@quartermaster/db/repositories/service-accounts.ts';
import type { Page, PageRequest } from '@quartermaster/db/queries.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../../auth/context.ts';
import { fixOfKey, fixOfProblem } from './fixes.ts';

type Filter = { service_account_id?: string | null | undefined; key_id?: string | null | undefined };

/** A page ends early beyond this size, in characters of JSON. */
const MAX_PAGE_SIZE = 1024 * 1024;

/** The telemetry of the accounts of a scope, the newest account first. */
export async function listHealth(
  { services }: CallerContext,
  scope: TenantScope,
  filter: Filter,
  page: PageRequest,
): Promise<Page<TelemetryHealth>> {
  const { db, now, telemetry } = services;
  const { service_account_id: accountId, key_id: keyId } = filter;
  const ids = accountId == null ? null : [accountId];
  const key = keyId == null ? null : await findKey(db, scope, keyId, now());
  if (key === undefined || (key?.ownerId != null && ids?.includes(key.ownerId) === false)) {
    return { items: [], next: null };
  }
  const place = key === null ? scope : [{ tenantId: key.tenantId ?? '', subTenantId: key.subTenantId }];
  const wanted = key === null ? ids : [key.ownerId ?? ''];
  const { items: accounts, next } = await searchServiceAccounts(db, place, { ids: wanted }, page, now());
  if (wanted !== null) {
    for (const { tenantId, id } of accounts) await telemetry.accounts.flush({ tenantId, id });
  }
  const byAccount = await findKeyTelemetry(db, {
    tenantIds: [...new Set(accounts.map(({ tenantId }) => tenantId))],
    accountIds: accounts.map(({ id }) => id),
  });
  const items: TelemetryHealth[] = [];
  let size = 0;
  for (const account of accounts) {
    const keys = byAccount.get(`${account.tenantId}\n${account.id}`) ?? [];
    const item = healthOf(
      account,
      keys.filter((one) => keyId == null || one.keyId === keyId),
    );
    size += JSON.stringify(item).length;
    if (size > MAX_PAGE_SIZE && items.length > 0) {
      const last = accounts[items.length - 1];
      return { items, next: last === undefined ? null : [last.createdAt, last.id] };
    }
    items.push(item);
  }
  return { items, next };
}

function healthOf(account: ServiceAccount, keys: readonly StoredKeyTelemetry[]): TelemetryHealth {
  const { id, tenantId, subTenantId, name, status } = account;
  return {
    serviceAccountId: id,
    tenantId,
    subTenantId,
    name,
    status,
    keys: keys.map((key) => ({
      ...key,
      fix: fixOfKey(key),
      problems: key.problems.map((problem) => ({ ...problem, fix: fixOfProblem(problem.reason) })),
    })),
  };
}
