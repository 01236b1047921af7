import {
  DEFAULT_TENANT_LIMITS,
  MAX_LISTED_ACCOUNTS,
  TENANT_RESOURCES,
  type TenantResource,
  type TenantUsage,
} from '@quartermaster/contracts/tenant-usage.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { listLargestAccounts } from '@quartermaster/db/repositories/account-bytes.ts';
import {
  type CountedResource,
  countTenantUsage,
  findTenantLimits,
} from '@quartermaster/db/repositories/tenant-usage.ts';
import { ApiError } from './errors.ts';

/** How long limits and counts are cached, in milliseconds. The cache does not see what other processes add. */
const CACHED_MS = 5000;

/** Tenants in the cache. */
const MAX_CACHED = 10_000;

/** Usage is counted exactly up to this number of records, or up to the limit if that is higher. */
const COUNTED_EXACTLY = 20_000;

type Cached = {
  limits: { until: number; values: Partial<Record<TenantResource, number>> } | null;
  counts: Partial<Record<CountedResource, { until: number; used: number }>>;
};

/**
 * The limits of tenants. Counts are cached for some seconds, so that few writes need to count. The cache sees neither what other
 * processes add in that time, nor what concurrent transactions on PostgreSQL have not committed. A limit may be exceeded by
 * that much.
 */
export class TenantLimits {
  readonly #cache = new Map<string, Cached>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /**
   * Counts records or bytes that a write is about to add.
   *
   * @param db the transaction of the write
   * @throws 409 `tenant_limit_reached` if there is no room for all of them
   */
  async add(db: Database, tenantId: string, resource: CountedResource, added = 1): Promise<void> {
    const { limit, room } = await this.#room(db, tenantId, resource, added);
    if (room < added) {
      delete this.#of(tenantId).counts[resource];
      throw limitReached(resource, limit);
    }
    this.#count(tenantId, resource, added);
  }

  /** Corrects the cached count after a write. @param difference what the write added, less what {@link add} counted for it */
  correct(tenantId: string, resource: CountedResource, difference: number): void {
    this.#count(tenantId, resource, difference);
  }

  /**
   * Counts as many of the `wanted` records as there is room for.
   *
   * @param db the transaction of the write
   * @returns how many the write may add
   */
  async addUpTo(db: Database, tenantId: string, resource: CountedResource, wanted: number): Promise<number> {
    const { room } = await this.#room(db, tenantId, resource, wanted);
    const added = Math.min(room, wanted);
    this.#count(tenantId, resource, added);
    return added;
  }

  /** The limit of a resource, and how many more the tenant may add. Counts again only if the cache has no room for `wanted`. */
  async roomFor(
    db: Database,
    tenantId: string,
    resource: CountedResource,
    wanted: number,
  ): Promise<{ limit: number; room: number }> {
    return this.#room(db, tenantId, resource, wanted);
  }

  /** The limit of a tenant for a resource. */
  async limitOf(db: Database, tenantId: string, resource: TenantResource): Promise<number> {
    const cached = this.#of(tenantId);
    if (cached.limits === null || cached.limits.until <= this.#time()) {
      cached.limits = { until: this.#time() + CACHED_MS, values: await findTenantLimits(db, tenantId) };
    }
    return cached.limits.values[resource] ?? DEFAULT_TENANT_LIMITS[resource];
  }

  /** All limits of a tenant and how much is used, not from the cache. @param requests counted in the current minute */
  async usageOf(db: Database, tenantId: string, requests: number): Promise<TenantUsage> {
    this.forget(tenantId);
    const set = await findTenantLimits(db, tenantId);
    const largestAccounts = await listLargestAccounts(db, tenantId, MAX_LISTED_ACCOUNTS);
    const usage = { tenantId, largestAccounts } as TenantUsage;
    for (const resource of TENANT_RESOURCES) {
      const limit = set[resource] ?? DEFAULT_TENANT_LIMITS[resource];
      const most = Math.max(limit + 1, COUNTED_EXACTLY);
      const used =
        resource === 'requestsPerMinute'
          ? requests
          : await countTenantUsage(db, tenantId, { resource, most }, this.#now());
      usage[resource] = { used, limit, isDefault: set[resource] === undefined };
    }
    return usage;
  }

  /** Removes a tenant from the cache, because its limits were changed. */
  forget(tenantId: string): void {
    this.#cache.delete(tenantId);
  }

  /** How many a tenant may still add. Counts again if the cached count is old, or leaves too little room. */
  async #room(
    db: Database,
    tenantId: string,
    resource: CountedResource,
    added: number,
  ): Promise<{ limit: number; room: number }> {
    const limit = await this.limitOf(db, tenantId, resource);
    const { counts } = this.#of(tenantId);
    const cached = counts[resource];
    if (cached && cached.until > this.#time() && cached.used + added <= limit) {
      return { limit, room: limit - cached.used };
    }
    const used = await countTenantUsage(db, tenantId, { resource, most: limit + 1 }, this.#now());
    counts[resource] = { until: this.#time() + CACHED_MS, used };
    return { limit, room: Math.max(0, limit - used) };
  }

  #count(tenantId: string, resource: CountedResource, added: number): void {
    const count = this.#of(tenantId).counts[resource];
    if (count) count.used += added;
  }

  #time(): number {
    return this.#now().getTime();
  }

  #of(tenantId: string): Cached {
    const cached = this.#cache.get(tenantId);
    if (cached) return cached;
    if (this.#cache.size >= MAX_CACHED) {
      const [first] = this.#cache.keys();
      if (first !== undefined) this.#cache.delete(first);
    }
    const empty: Cached = { limits: null, counts: {} };
    this.#cache.set(tenantId, empty);
    return empty;
  }
}

function limitReached(resource: CountedResource, limit: number): ApiError {
  const detail = `The tenant has reached its limit of ${limit} for ${resource}. GET /v1/tenants/{tenant_id}/usage shows its limits and their use.`;
  return new ApiError('tenant_limit_reached', detail);
}
