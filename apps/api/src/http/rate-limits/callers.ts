import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { authenticate } from '../../auth/authenticate.ts';
import { sessionToken } from '../../auth/console-sessions.ts';
import type { Principal } from '../../auth/principal.ts';
import { ApiError } from '../../platform/errors.ts';
import type { AuthServices } from '../../auth/trusted-issuer.ts';
import type { Services } from '../../platform/services.ts';
import { KnownCredentials } from './known-credentials.ts';
import { callerAt, callerOf, countRequest, countRequestOfTenants, countWork, type RequestLimits } from './limits.ts';

/** Bytes of a body that cost one point. */
const BYTES_PER_POINT = 16 * 1024;

/**
 * A body is counted up to this size, or up to the longest that its operation takes. A longer one is refused without being parsed,
 * but its bytes still arrive on the connection.
 */
const MAX_COUNTED_BYTES = 1024 * 1024;

/** Authenticates callers, and counts their requests. */
export type Callers = {
  /**
   * Finds the principal of a request. Null if no credential was sent, or if the operation is public. An address that is over
   * its limit is refused before its credential is looked up, unless the credential was valid before. Credentials that are new are
   * looked up within a limit of their own, so that a sender with a wrong key does not keep them out.
   *
   * @throws ApiError 400, 401, 403 or 503; 429 for an address that is over its limit
   */
  authenticate: (
    req: IncomingMessage,
    res: ServerResponse,
    asked: { operation: Operation; requestId: string },
  ) => Promise<Principal | null>;
  /**
   * Counts a request against the limits of its principal and the principal's tenants, or of its address if it has no principal.
   * The headers of the answer say what is left.
   *
   * @throws ApiError 429
   */
  limitRate: (
    req: IncomingMessage,
    res: ServerResponse,
    asked: { operation: Operation; principal: Principal | null },
  ) => Promise<void>;
  /** Counts the work of a finished request against the limits of its principal and the principal's tenants. */
  chargeWork: (principal: Principal, points: number) => Promise<void>;
};

/** @param limits null switches rate limits off */
export function createCallers(
  services: AuthServices & Pick<Services, 'tenantLimits'>,
  limits: RequestLimits | null,
  addressOf: (req: IncomingMessage) => string,
  known = new KnownCredentials((req) => sessionToken(services, req)),
): Callers {
  const authenticated: Callers['authenticate'] = async (req, _res, { operation, requestId }) =>
    operation.scope === 'public' ? null : authenticate(services, req, requestId);
  const remembered: Callers['authenticate'] = async (req, res, asked) => {
    const principal = await authenticated(req, res, asked);
    if (principal !== null) known.remember(req, principal.keyId);
    return principal;
  };
  if (limits === null) return { authenticate: remembered, limitRate: async () => {}, chargeWork: async () => {} };
  const { address: ofAddress } = limits;
  const mostOfTenant = (tenantId: string) => services.tenantLimits.limitOf(services.db, tenantId, 'requestsPerMinute');

  return {
    async authenticate(req, res, asked) {
      const address = callerAt(addressOf(req));
      const count = () => countRequest(ofAddress, address, res, costOf(req, asked.operation));
      if (ofAddress.hasCounted(address) && ofAddress.isExhausted(address) && !known.has(req)) {
        const mayBeLookedUp = known.isNew(req) && (await limits.newCredentials.count(address)).allowed;
        if (!mayBeLookedUp) await count();
      }
      try {
        return await remembered(req, res, asked);
      } catch (error) {
        if (isFaultOfCaller(error)) {
          known.refuse(req);
          await count();
        }
        throw error;
      }
    },
    async limitRate(req, res, { operation, principal }) {
      const cost = costOf(req, operation);
      if (principal === null) {
        await countRequest(ofAddress, callerAt(addressOf(req)), res, cost);
        return;
      }
      const limit = operation.transport === 'otlp' ? limits.ingest : limits.principal;
      await countRequest(limit, callerOf(principal), res, cost);
      await countRequestOfTenants(limits, principal, { points: cost, mostOfTenant });
    },
    chargeWork: (principal, points) => countWork(limits, principal, { mostOfTenant, points }),
  };
}

/** Points that a request costs: those of its operation, and one for each 16 KiB of its body, which is not read yet. */
function costOf({ headers }: IncomingMessage, operation: Operation): number {
  // The ingest limit counts requests, whatever their size, because one request brings many spans.
  if (operation.transport === 'otlp') return operation.cost;
  const isChunked = headers['transfer-encoding'] !== undefined;
  const bytes = isChunked ? operation.bodyMaxBytes : Number(headers['content-length'] ?? 0);
  const counted = Math.min(bytes, Math.max(operation.bodyMaxBytes, MAX_COUNTED_BYTES));
  return operation.cost + Math.floor(counted / BYTES_PER_POINT);
}

/** Whether the caller caused the error. An unreachable identity provider or database (503) does not count. */
function isFaultOfCaller(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500;
}
