import type { TenantSettings } from '@quartermaster/contracts/tenants.ts';
import { findAccountBytes } from '@quartermaster/db/repositories/account-bytes.ts';
import type { TenantPlace } from '@quartermaster/db/tenancy.ts';
import { ApiError } from '../../platform/errors.ts';
import { roomInShare } from '../../platform/fair-share.ts';
import type { Services } from '../../platform/services.ts';
import { removeSomeOldTraces } from '../trace-retention.ts';

/** The bytes that a key of a call takes in storage, with its entries in indexes: 280 to 299 on SQLite. */
export const BYTES_PER_KEY = 300;

/**
 * How often old traces are removed for one batch: 256 spans at a time. A block, which is removed with its last span, has up to
 * 2,000.
 */
const MAX_REMOVALS = 8;

type NewBytes = {
  place: TenantPlace;
  sender: string;
  bytes: number;
  settings: Pick<TenantSettings, 'spanRetentionDays'>;
};

/**
 * Counts bytes that a batch of spans or log records is about to store. If there is no room for them, some traces that are past
 * the tenant's retention are removed first. So a tenant or an account that is full does not wait for the hourly removal.
 *
 * @throws 409 `tenant_limit_reached` if the tenant's limit or the account's share of it is full
 */
export async function requireRoom(
  services: Pick<Services, 'db' | 'tenantLimits' | 'databaseNow'>,
  { place, sender, bytes, settings }: NewBytes,
): Promise<void> {
  const add = async () => {
    await requireShare(services, { place, sender, bytes });
    await services.tenantLimits.add(services.db, place.tenantId, 'storedBytes', bytes);
  };
  for (let removals = 0; ; removals += 1) {
    try {
      return await add();
    } catch (error) {
      if (!isLimitReached(error) || settings.spanRetentionDays === null || removals === MAX_REMOVALS) throw error;
      const removed = await removeSomeOldTraces(services, place.tenantId, settings.spanRetentionDays);
      if (removed === 0) throw error;
      services.tenantLimits.forget(place.tenantId);
    }
  }
}

export function isLimitReached(error: unknown): error is ApiError {
  return error instanceof ApiError && error.reason === 'tenant_limit_reached';
}

/**
 * An account may send spans and log records as long as it has fewer bytes than are free, so a single account fills at most half
 * of the tenant's limit. The same rule holds for observations, see `roomWithinShares`.
 */
async function requireShare(
  { db, tenantLimits }: Pick<Services, 'db' | 'tenantLimits'>,
  { place, sender, bytes }: Omit<NewBytes, 'settings'>,
): Promise<void> {
  const { limit, room: free } = await tenantLimits.roomFor(db, place.tenantId, 'storedBytes', bytes);
  // An account has at most as many bytes as the tenant, so usually there is no need to look it up.
  if (bytes > free || bytes <= roomInShare(free, limit - free)) return;
  const accountBytes = await findAccountBytes(db, place.tenantId, sender);
  if (bytes <= roomInShare(free, accountBytes)) return;
  throw new ApiError(
    'tenant_limit_reached',
    `The account has ${accountBytes} stored bytes, and the tenant has ${free} of ${limit} free. An account may send spans and log records only while it has fewer bytes than are free. GET /v1/tenants/{tenant_id}/usage shows the largest accounts.`,
  );
}
