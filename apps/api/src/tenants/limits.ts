import {
  DEFAULT_TENANT_LIMITS,
  TENANT_RESOURCES,
  type TenantResource,
  type TenantUsage,
} from '@quartermaster/contracts/tenant-usage.ts';
import type { Database } from '@quartermaster/db/database.ts';
import {
  type CountedResource,
  countTenantUsage,
  findTenantLimits,
} from '@quartermaster/db/repositories/tenant-usage.ts';
import { ApiError } from '../errors.ts';

/** How long a limit and a count are remembered, in milliseconds. Other processes add meanwhile without being seen. */
const REMEMBERED_MS = 5000;

/** Tenants that are remembered at a time. */
const MAX_REMEMBERED = 10_000;

/** Usage is shown exactly up to this number of records, or up to the limit where that is higher. */
const SHOWN_EXACTLY = 20_000;

type Known = {
  limits: { until: number; values: Partial<Record<TenantResource, number>> } | null;
  counts: Partial<Record<CountedResource, { until: number; used: number }>>;
};

/**
 * The limits of tenants. A count is remembered for some seconds and then taken anew, so that a write seldom counts. What other
 * processes add within that time is not seen, and neither is what concurrent transactions on PostgreSQL have not committed: a
 * limit may be passed by that much.
 */
export class TenantLimits {
  readonly #known = new Map<string, Known>();
  readonly #now: () => Date;

  constructor(now: () => Date) {
    this.#now = now;
  }

  /**
   * Counts records that a write is about to add, or bytes.
   *
   * @param db the transaction of the write
   * @throws 409 `tenant_limit_reached`
   */
  async add(db: Database, tenantId: string, resource: CountedResource, added = 1): Promise<void> {
    const { limit, room } = await this.#room(db, tenantId, resource, added);
    if (room < added) {
      delete this.#of(tenantId).counts[resource];
      throw limitReached(resource, limit);
    }
    this.#count(tenantId, resource, added);
  }

  /**
   * Counts as many of the records that a write is about to add as the tenant may still have.
   *
   * @param db the transaction of the write
   * @returns how many those are
   */
  async addUpTo(db: Database, tenantId: string, resource: CountedResource, wanted: number): Promise<number> {
    const { room } = await this.#room(db, tenantId, resource, wanted);
    const added = Math.min(room, wanted);
    this.#count(tenantId, resource, added);
    return added;
  }

  /** What a tenant may have of a resource, and how many of those that a write is about to add there is room for. */
  async roomFor(
    db: Database,
    tenantId: string,
    resource: CountedResource,
    wanted: number,
  ): Promise<{ limit: number; room: number }> {
    return this.#room(db, tenantId, resource, wanted);
  }

  /** What a tenant may have of a resource. */
  async limitOf(db: Database, tenantId: string, resource: TenantResource): Promise<number> {
    const known = this.#of(tenantId);
    if (known.limits === null || known.limits.until <= this.#time()) {
      known.limits = { until: this.#time() + REMEMBERED_MS, values: await findTenantLimits(db, tenantId) };
    }
    return known.limits.values[resource] ?? DEFAULT_TENANT_LIMITS[resource];
  }

  /** All limits of a tenant with their use, read anew. @param requests counted in the current minute */
  async usageOf(db: Database, tenantId: string, requests: number): Promise<TenantUsage> {
    this.forget(tenantId);
    const set = await findTenantLimits(db, tenantId);
    const usage = { tenantId } as TenantUsage;
    for (const resource of TENANT_RESOURCES) {
      const limit = set[resource] ?? DEFAULT_TENANT_LIMITS[resource];
      const most = Math.max(limit + 1, SHOWN_EXACTLY);
      const used =
        resource === 'requestsPerMinute'
          ? requests
          : await countTenantUsage(db, tenantId, { resource, most }, this.#now());
      usage[resource] = { used, limit, isDefault: set[resource] === undefined };
    }
    return usage;
  }

  /** The next question reads the database: a limit was changed. */
  forget(tenantId: string): void {
    this.#known.delete(tenantId);
  }

  /** What a tenant may still add. Counts anew where the remembered count is old, or leaves too little room. */
  async #room(
    db: Database,
    tenantId: string,
    resource: CountedResource,
    added: number,
  ): Promise<{ limit: number; room: number }> {
    const limit = await this.limitOf(db, tenantId, resource);
    const { counts } = this.#of(tenantId);
    const known = counts[resource];
    if (known && known.until > this.#time() && known.used + added <= limit) return { limit, room: limit - known.used };
    const used = await countTenantUsage(db, tenantId, { resource, most: limit + 1 }, this.#now());
    counts[resource] = { until: this.#time() + REMEMBERED_MS, used };
    return { limit, room: Math.max(0, limit - used) };
  }

  #count(tenantId: string, resource: CountedResource, added: number): void {
    const count = this.#of(tenantId).counts[resource];
    if (count) count.used += added;
  }

  #time(): number {
    return this.#now().getTime();
  }

  #of(tenantId: string): Known {
    const known = this.#known.get(tenantId);
    if (known) return known;
    if (this.#known.size >= MAX_REMEMBERED) {
      const [first] = this.#known.keys();
      if (first !== undefined) this.#known.delete(first);
    }
    const fresh: Known = { limits: null, counts: {} };
    this.#known.set(tenantId, fresh);
    return fresh;
  }
}

function limitReached(resource: CountedResource, limit: number): ApiError {
  const detail = `The tenant may have at most ${limit} of ${resource}. GET /v1/tenants/{tenant_id}/usage shows what it uses.`;
  return new ApiError('tenant_limit_reached', detail);
}
