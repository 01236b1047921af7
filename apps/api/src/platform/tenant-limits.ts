import {
  DEFAULT_TENANT_LIMITS,
  MAX_LISTED_ACCOUNTS,
  TENANT_RESOURCES,
  type TenantResource,
  type TenantUsage,
} from '@quartermaster/contracts/tenant-usage.ts';
import { BoundedMap } from '@quartermaster/db/bounded-map.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { listLargestAccounts } from '@quartermaster/db/repositories/account-bytes.ts';
import {
  type CountedResource,
  countTenantUsage,
  findTenantLimits,
} from '@quartermaster/db/repositories/tenant-usage.ts';
import { CachedCounts } from './cached-counts.ts';
import { ApiError } from './errors.ts';
import { isRecent } from './is-recent.ts';

/** How long limits are cached, in milliseconds. The cache does not see what other processes change. */
const CACHED_MS = 5000;

/** Tenants in the cache. */
const MAX_CACHED = 10_000;

/** Usage is counted exactly up to this number of records, or up to the limit if that is higher. */
const COUNTED_EXACTLY = 20_000;

/** The maximum size of the stored answers of all users of a tenant, or of one user without a tenant. In bytes. */
const USER_ANSWERS_BYTES = 1024 ** 3;

/**
 * Bytes that are counted for a new record besides its content. Triggers count exactly: see record-bytes.ts in the baseline
 * migration.
 */
const RECORD_BYTES = 1000;

/** Content up to this size is permitted at the limit, because people must be able to end, block and rename things. */
const SMALL_BYTES = 1024;

/** Rotations of one credential that are permitted at the limit, because a leaked one has to be replaced. */
const ROTATIONS_AT_LIMIT = 100;

/** How many records or bytes of a resource are added, and the limit for their total. */
type Taken = { resource: CountedResource; limit: number; added: number };

type Limits = Partial<Record<TenantResource, number>>;

/** The limits of tenants. Counts are cached, see {@link CachedCounts}: a limit may be exceeded by a few. */
export class TenantLimits {
  readonly #limits = new BoundedMap<string, { readAt: number; values: Limits }>(MAX_CACHED);
  readonly #counts: CachedCounts;
  readonly #now: () => Date;
  readonly #requestsOfTenant: (tenantId: string) => number;

  /** @param requestsOfTenant how many requests with API keys of a tenant were counted in the current minute */
  constructor(now: () => Date, requestsOfTenant: (tenantId: string) => number = () => 0) {
    this.#now = now;
    this.#requestsOfTenant = requestsOfTenant;
    this.#counts = new CachedCounts(now);
  }

  /**
   * Counts records or bytes that a write is about to add.
   *
   * @param db the transaction of the write
   * @throws 409 `tenant_limit_reached` if there is no room for all of them
   */
  async add(db: Database, tenantId: string, resource: CountedResource, added = 1): Promise<void> {
    const limit = await this.limitOf(db, tenantId, resource);
    if (!(await this.#take(db, tenantId, { resource, limit, added }))) throw limitReached(resource, limit);
  }

  /**
   * Counts a record that a write is about to add, and its bytes.
   *
   * @param content what the write stores in it
   * @throws 409 `tenant_limit_reached`
   */
  async addRecord(
    db: Database,
    tenantId: string,
    { resource, content }: { resource?: Exclude<CountedResource, 'storedBytes'>; content: unknown },
  ): Promise<void> {
    if (resource !== undefined) await this.add(db, tenantId, resource);
    await this.add(db, tenantId, 'storedBytes', RECORD_BYTES + bytesOf(content));
  }

  /**
   * Like {@link addRecord}, for records whose number is limited and that leave nothing when they are deleted. The bytes of a
   * small record need no room.
   */
  async addRemovable(
    db: Database,
    tenantId: string,
    { resource, content }: { resource: Exclude<CountedResource, 'storedBytes'>; content: unknown },
  ): Promise<void> {
    if (bytesOf(content) > SMALL_BYTES) return this.addRecord(db, tenantId, { resource, content });
    return this.add(db, tenantId, resource);
  }

  /**
   * Counts content that is about to replace that of a record. Content that is small, or no longer than before, needs no room.
   *
   * @param before the record
   * @param changed the names of the fields that change
   * @throws 409 `tenant_limit_reached`
   */
  async changeRecord<Rec extends object>(
    db: Database,
    tenantId: string,
    { before, change, changed }: { before: Rec; change: Partial<Rec>; changed: readonly string[] },
  ): Promise<void> {
    const bytes = bytesOf(fieldsOf(change, changed));
    const grown = bytes - bytesOf(fieldsOf(before, changed));
    if (bytes > SMALL_BYTES && grown > 0) await this.add(db, tenantId, 'storedBytes', grown);
  }

  /**
   * Counts a credential that replaces another one. The replaced credential stays as a record.
   *
   * @param rotationCount how often it was rotated before
   * @throws 409 `tenant_limit_reached`
   */
  async addRotation(
    db: Database,
    tenantId: string,
    { rotationCount, content }: { rotationCount: number; content: unknown },
  ): Promise<void> {
    if (rotationCount >= ROTATIONS_AT_LIMIT) await this.addRecord(db, tenantId, { content });
  }

  /**
   * Counts an answer that is stored for a user. The web console sends an Idempotency-Key with every write, so answers of users
   * have a limit apart from that of the tenant. Users can then still act when the tenant is full.
   *
   * @param users as {@link usersOfTenant} or {@link userWithoutTenant} names them
   * @throws 409 `tenant_limit_reached`
   */
  async addAnswerOfUsers(db: Database, users: string, bytes: number): Promise<void> {
    const taken = { resource: 'storedBytes', limit: USER_ANSWERS_BYTES, added: bytes } as const;
    if (await this.#take(db, users, taken)) return;
    const detail = `The answers that are kept for users take ${USER_ANSWERS_BYTES} bytes, which is the limit. They are removed after 24 hours. Send the request without an Idempotency-Key.`;
    throw new ApiError('tenant_limit_reached', detail);
  }

  /** Corrects the cached count after a write. @param difference what the write added, less what {@link add} counted for it */
  correct(tenantId: string, resource: CountedResource, difference: number): void {
    this.#counts.add(keyOf(tenantId, resource), difference);
  }

  /**
   * Counts as many of the `wanted` records as there is room for.
   *
   * @param db the transaction of the write
   * @returns how many the write may add
   */
  async addUpTo(db: Database, tenantId: string, resource: CountedResource, wanted: number): Promise<number> {
    const { room } = await this.roomFor(db, tenantId, resource, wanted);
    const added = Math.min(room, wanted);
    this.#counts.add(keyOf(tenantId, resource), added);
    return added;
  }

  /** The limit of a resource, and how many more the tenant may add. Counts again only if the cache has no room for `wanted`. */
  async roomFor(
    db: Database,
    tenantId: string,
    resource: CountedResource,
    wanted: number,
  ): Promise<{ limit: number; room: number }> {
    const limit = await this.limitOf(db, tenantId, resource);
    return { limit, room: await this.#roomWithin(db, tenantId, { resource, limit, added: wanted }) };
  }

  /** Counts what is added, if there is room for all of it. Returns whether there is. */
  async #take(db: Database, owner: string, taken: Taken): Promise<boolean> {
    const key = keyOf(owner, taken.resource);
    const fits = taken.added <= (await this.#roomWithin(db, owner, taken));
    if (fits) this.#counts.add(key, taken.added);
    else this.#counts.delete(key);
    return fits;
  }

  async #roomWithin(db: Database, owner: string, { resource, limit, added }: Taken): Promise<number> {
    const used = await this.#counts.usedOf(keyOf(owner, resource), { limit, added }, () =>
      countTenantUsage(db, owner, { resource, most: limit + 1 }, this.#now()),
    );
    return Math.max(0, limit - used);
  }

  /** The limit of a tenant for a resource. */
  async limitOf(db: Database, tenantId: string, resource: TenantResource): Promise<number> {
    const limits = await this.#limitsOf(db, tenantId);
    return limits[resource] ?? DEFAULT_TENANT_LIMITS[resource];
  }

  /** All limits of a tenant and how much is used, not from the cache. */
  async usageOf(db: Database, tenantId: string): Promise<TenantUsage> {
    this.forget(tenantId);
    const set = await findTenantLimits(db, tenantId);
    const largestAccounts = await listLargestAccounts(db, tenantId, MAX_LISTED_ACCOUNTS);
    const usage = { tenantId, largestAccounts, tracesToRemove: null } as TenantUsage;
    for (const resource of TENANT_RESOURCES) {
      const limit = set[resource] ?? DEFAULT_TENANT_LIMITS[resource];
      const most = Math.max(limit + 1, COUNTED_EXACTLY);
      const used =
        resource === 'requestsPerMinute'
          ? this.#requestsOfTenant(tenantId)
          : await countTenantUsage(db, tenantId, { resource, most }, this.#now());
      usage[resource] = { used, limit, isDefault: set[resource] === undefined };
    }
    return usage;
  }

  /** Removes a tenant from the cache, because its limits were changed. */
  forget(tenantId: string): void {
    this.#limits.delete(tenantId);
    for (const resource of TENANT_RESOURCES) this.#counts.delete(keyOf(tenantId, resource));
  }

  async #limitsOf(db: Database, tenantId: string): Promise<Limits> {
    const time = this.#now();
    const cached = this.#limits.get(tenantId);
    if (cached && isRecent(cached.readAt, CACHED_MS, time)) return cached.values;
    const values = await findTenantLimits(db, tenantId);
    this.#limits.set(tenantId, { readAt: time.getTime(), values });
    return values;
  }
}

function keyOf(tenantId: string, resource: TenantResource): string {
  return `${tenantId} ${resource}`;
}

function fieldsOf(record: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)));
}

function bytesOf(content: unknown): number {
  return Buffer.byteLength(JSON.stringify(content));
}

function limitReached(resource: CountedResource, limit: number): ApiError {
  const detail = `The tenant has reached its limit of ${limit} for ${resource}. GET /v1/tenants/{tenant_id}/usage shows its limits and their use.`;
  return new ApiError('tenant_limit_reached', detail);
}
