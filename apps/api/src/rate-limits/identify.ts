import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { authenticate } from '../access/authenticate.ts';
import type { Principal } from '../access/principal.ts';
import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import { KnownCredentials } from './known-credentials.ts';
import { callerAt, callerOf, countRequest, countRequestOfTenant, type RequestLimits } from './limits.ts';

/** A body takes one point of a limit for each of these. */
const BYTES_OF_POINT = 16 * 1024;

/** Who is calling what; null where no credential was sent, or the operation asks for none. */
export type Identify = (
  req: IncomingMessage,
  res: ServerResponse,
  asked: { operation: Operation | null; requestId: string },
) => Promise<Principal | null>;

/**
 * Authenticates a request, and counts it: against the limit of its principal, else against that of its address. The
 * answer says what is left.
 *
 * An address whose requests were refused too often is refused before its next credential is looked up. What proved good
 * from there before is let through.
 *
 * @throws 429; and what {@link authenticate} throws
 */
export function createIdentify(
  services: Services,
  limits: RequestLimits | null,
  addressOf: (req: IncomingMessage) => string,
): Identify {
  const authenticated: Identify = (req, _res, { operation, requestId }) =>
    operation?.scope === 'public' ? Promise.resolve(null) : authenticate(services, req, requestId);
  return limits === null ? authenticated : limited(services, authenticated, limits, addressOf);
}

function limited(
  services: Services,
  authenticated: Identify,
  { principal: ofPrincipal, ingest, address: ofAddress, tenant: ofTenant }: RequestLimits,
  addressOf: (req: IncomingMessage) => string,
): Identify {
  const known = new KnownCredentials();
  const countOfTenant = async (tenantId: string, cost: number) => {
    const most = await services.tenantLimits.limitOf(services.db, tenantId, 'requestsPerMinute');
    await countRequestOfTenant(ofTenant, { tenantId, most, cost });
  };
  return async (req, res, asked) => {
    const address = callerAt(addressOf(req));
    const cost = costOf(req, asked.operation);
    if (ofAddress.hasCounted(address) && ofAddress.isExhausted(address) && !known.has(req)) {
      await countRequest(ofAddress, address, res, cost);
    }
    let principal: Principal | null;
    try {
      principal = await authenticated(req, res, asked);
    } catch (error) {
      if (isFault(error)) {
        known.forget(req);
        await countRequest(ofAddress, address, res, cost);
      }
      throw error;
    }
    if (principal === null) {
      await countRequest(ofAddress, address, res, cost);
      return null;
    }
    known.remember(req, principal.keyId);
    const limit = asked.operation?.transport === 'otlp' ? ingest : ofPrincipal;
    await countRequest(limit, callerOf(principal), res, cost);
    if (principal.tenantId !== null) await countOfTenant(principal.tenantId, cost);
    return principal;
  };
}

/** Points that a request takes: those of its operation, and one for each 16 KiB of its body, which is not read yet. */
function costOf({ headers }: IncomingMessage, operation: Operation | null): number {
  if (operation === null) return 1;
  // Spans are many by nature, and their limit counts requests.
  if (operation.transport === 'otlp') return operation.cost;
  const isChunked = headers['transfer-encoding'] !== undefined;
  const bytes = isChunked ? operation.bodyMaxBytes : Number(headers['content-length'] ?? 0);
  return operation.cost + Math.floor(Math.min(bytes, operation.bodyMaxBytes) / BYTES_OF_POINT);
}

/** That the identity provider or the database is away is not the caller's doing. */
function isFault(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500;
}
