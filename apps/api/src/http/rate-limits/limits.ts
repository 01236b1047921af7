import type { OnboardingLimit } from '../../platform/services.ts';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_TENANT_LIMITS } from '@quartermaster/contracts/tenant-usage.ts';
import ipaddr from 'ipaddr.js';
import { type Principal, principalName, tenantsOfUser } from '../../auth/principal.ts';
import { ApiError } from '../../platform/errors.ts';
import { type Caller, type Counted, RateLimit, type TakePoints, WINDOW_MS } from './rate-limit.ts';

const WINDOW_SECONDS = WINDOW_MS / 1000;

/** Refusals of a caller that are sent at once in a window. Each further one is sent late. */
const PROMPT_REFUSALS = 20;
const LATE_MS = 1000;

/** The limit of new credentials, as a part of the limit of their address. Each may be a guess, and is looked up. */
const NEW_CREDENTIALS_PART = 0.1;

/** A user's request counts for at most this many of their tenants, so that it stays cheap. */
const MAX_TENANTS_COUNTED = 10;

/** The rate limits of requests. */
export type RequestLimits = {
  /** Of an authenticated principal. */
  principal: RateLimit;
  /** Of an authenticated principal that sends telemetry. */
  ingest: RateLimit;
  /** Of an address, for requests without valid credentials. */
  address: RateLimit;
  /** Of an address that is over its limit, for credentials that were not seen before. */
  newCredentials: RateLimit;
  /** Of an address, for public paths and paths that do not exist. */
  publicPaths: RateLimit;
  /** Of all API keys of a tenant together. */
  tenant: RateLimit;
  /** Of all users of a tenant together. As high as `tenant`, but counted separately, so that a program cannot keep people out. */
  tenantUsers: RateLimit;
  /** Of the decisions that the sessions of a tenant ask for. Each process counts alone, so that a decision takes no statement. */
  decisions: RateLimit;
};

type Settings = {
  /** Points a minute. Null: requests are not limited. */
  rateLimits: Record<'principal' | 'ingest' | 'address' | 'publicPaths' | 'registration', number> | null;
  now: () => Date;
  takePoints: TakePoints | null;
};

/** Organizations that one user may ask for in a minute. An answer reveals whether an id is taken, so guessing is limited. */
const ORGANIZATIONS = 10;

/** Decisions of a tenant in a minute. A decision costs a tenth of a request. */
const DECISIONS = 60_000;

/** All rate limits of the service. If rate limits are switched off, `requests` is null, and onboarding is unlimited. */
export function createLimits({ rateLimits, now, takePoints }: Settings) {
  const named = (policy: string, limit: number) => new RateLimit({ policy, limit, now, takePoints });
  if (rateLimits === null) {
    const unlimited: OnboardingLimit = { consume: async () => {} };
    return { requests: null, registrations: unlimited, organizations: unlimited };
  }
  const registration = named('registration', rateLimits.registration);
  const organization = named('organization', ORGANIZATIONS);
  const requests: RequestLimits = {
    principal: named('principal', rateLimits.principal),
    ingest: named('ingest', rateLimits.ingest),
    address: named('address', rateLimits.address),
    newCredentials: named('new_credentials', Math.max(1, Math.floor(rateLimits.address * NEW_CREDENTIALS_PART))),
    publicPaths: named('public', rateLimits.publicPaths),
    tenant: named('tenant', DEFAULT_TENANT_LIMITS.requestsPerMinute),
    tenantUsers: named('tenant_users', DEFAULT_TENANT_LIMITS.requestsPerMinute),
    decisions: new RateLimit({ policy: 'decisions', limit: DECISIONS, now, takePoints: null }),
  };
  return {
    requests,
    registrations: onboardingLimit(registration, callerAt),
    organizations: onboardingLimit(organization, (identityDigest) => ({
      tenantId: '',
      id: `identity:${identityDigest}`,
    })),
  };
}

export function callerOf(principal: Principal): Caller {
  return { tenantId: principal.tenantId ?? '', id: principalName(principal) };
}

/** The caller at an address: an IPv4 address, or the /64 of an IPv6 address, because one subscriber has that many. */
export function callerAt(address: string): Caller {
  return { tenantId: '', id: networkOf(address) };
}

/** The headers of draft-ietf-httpapi-ratelimit-headers. */
function headersOf({ policy }: RateLimit, { limit, remaining, resetSeconds }: Counted): Record<string, string> {
  return {
    'RateLimit-Policy': `"${policy}";q=${limit};w=${WINDOW_SECONDS}`,
    RateLimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
  };
}

/** Counts a request, and sets the RateLimit headers of its answer. @throws ApiError 429 */
export async function countRequest(limit: RateLimit, caller: Caller, res: ServerResponse, cost = 1): Promise<void> {
  const count = limit.count(caller, cost);
  const counted = count instanceof Promise ? await count : count;
  for (const [name, value] of Object.entries(headersOf(limit, counted))) res.setHeader(name, value);
  if (!counted.allowed) await refuse(limit, counted);
}

/**
 * Counts a request against the limits of its caller's tenants. A user of several tenants is refused only if every one of these
 * tenants has reached its limit, because a busy tenant must not keep the user out of the others. Sets RateLimit headers only on
 * a refusal.
 *
 * @throws ApiError 429
 */
export async function countRequestOfTenants(limits: RequestLimits, principal: Principal, work: Work): Promise<void> {
  const tenants = tenantLimitsOf(limits, principal);
  const counts: Counted[] = [];
  for (const { limit, tenantId } of tenants) counts.push(await countOfTenant(limit, tenantId, work));
  const [first, last] = [tenants[0], counts.at(-1)];
  if (!first || !last) return;
  if (counts.every(({ allowed }) => !allowed)) await refuse(first.limit, last);
}

/** The limits of the tenants that a caller belongs to. Users who are platform administrators are not limited by tenants. */
function tenantLimitsOf(
  { tenant, tenantUsers }: RequestLimits,
  principal: Principal,
): { limit: RateLimit; tenantId: string }[] {
  if (principal.tenantId !== null) return [{ limit: tenant, tenantId: principal.tenantId }];
  if (principal.platformAdministrator) return [];
  const tenantIds = tenantsOfUser(principal).slice(0, MAX_TENANTS_COUNTED);
  return tenantIds.map((tenantId) => ({ limit: tenantUsers, tenantId }));
}

/** Points of work, and the limit of each tenant that it counts against. */
type Work = { points: number; mostOfTenant: (tenantId: string) => Promise<number> };

async function countOfTenant(limit: RateLimit, tenantId: string, { points, mostOfTenant }: Work): Promise<Counted> {
  return limit.count({ tenantId, id: tenantId, limit: await mostOfTenant(tenantId) }, points);
}

/** Counts the work of a finished request against the limits of its caller and the caller's tenants. Refuses nothing. */
export async function countWork(limits: RequestLimits, principal: Principal, work: Work): Promise<void> {
  if (work.points === 0) return;
  await limits.principal.count(callerOf(principal), work.points);
  for (const { limit, tenantId } of tenantLimitsOf(limits, principal)) await countOfTenant(limit, tenantId, work);
}

/**
 * Refuses a request. A caller that ignores many refusals gets the next ones late: then its connections wait instead of sending,
 * so that a flood of refused requests leaves the service to others.
 *
 * @throws ApiError 429
 */
async function refuse(limit: RateLimit, counted: Counted): Promise<never> {
  if (counted.refusals > PROMPT_REFUSALS) await sleep(LATE_MS);
  throw overLimit(limit, counted);
}

/** 429, with the headers of the limit that was reached. */
function overLimit(limit: RateLimit, counted: Counted): ApiError {
  const detail = `At most ${counted.limit} requests per minute are allowed (${limit.policy}). Large and expensive requests count several times. Try again after the time in Retry-After.`;
  const headers = { ...headersOf(limit, counted), 'Retry-After': String(counted.resetSeconds) };
  return new ApiError('rate_limited', detail, { headers });
}

function onboardingLimit(limit: RateLimit, callerBy: (text: string) => Caller): OnboardingLimit {
  return {
    async consume(text) {
      const counted = await limit.count(callerBy(text));
      if (!counted.allowed) throw overLimit(limit, counted);
    },
  };
}

/** What counts as one address: an IPv4 address in any notation, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  // Fast path for plain IPv4.
  if (!address.includes(':')) return address;
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}
