import type { Operation } from '@quartermaster/contracts/operation.ts';
import type { TenantScope } from '@quartermaster/db/tenancy.ts';
import type { Principal } from './principal.ts';
import type { Services } from '../platform/services.ts';

/** The preconditions of a request, as they were sent. */
export type Preconditions = { ifMatch?: string | undefined; ifNoneMatch?: string | undefined };

/** What a handler gets, over REST and over tRPC. */
export type Context = Preconditions & {
  services: Services;
  /** The service's own id of the request. */
  requestId: string;
  /** The request id that the caller chose. */
  callerRequestId: string | null;
  /** The client's address, also behind trusted proxies. */
  address: string;
  /** Null: no credential was sent. */
  principal: Principal | null;
};

/** The context of an operation that requires credentials. */
export type CallerContext = Context & {
  principal: Principal;
  operation: Operation;
  /**
   * Charges work that was only known after it was done to the rate limits of the caller and its tenant, on top of the points
   * that every request costs. Later requests may be refused for it, never the one that did the work.
   */
  charge: (points: number) => Promise<void>;
  /** The places where the caller holds the operation's scope. Repositories get it as their tenant scope. */
  reach: TenantScope;
};

/** The request id that the answer shows. */
export function shownId(ctx: Pick<Context, 'requestId' | 'callerRequestId'> | undefined): string {
  return ctx?.callerRequestId ?? ctx?.requestId ?? '';
}

/** The name under which all anonymous callers take turns at the database. */
export const STRANGERS = 'strangers';
