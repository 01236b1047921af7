import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '@quartermaster/contracts/operation.ts';
import { authenticate } from '../access/authenticate.ts';
import type { Principal } from '../access/principal.ts';
import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import { KnownCredentials } from './known-credentials.ts';
import { callerAt, callerOf, headersOf, overLimit, type RequestLimits } from './limits.ts';
import type { Caller, RateLimit } from './rate-limit.ts';

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
  return limits === null ? authenticated : limited(authenticated, limits, addressOf);
}

function limited(
  authenticated: Identify,
  { principal: ofPrincipal, ingest, address: ofAddress }: RequestLimits,
  addressOf: (req: IncomingMessage) => string,
): Identify {
  const known = new KnownCredentials();
  return async (req, res, asked) => {
    const address = callerAt(addressOf(req));
    if (ofAddress.hasCounted(address) && ofAddress.isExhausted(address) && !known.has(req)) {
      await counted(ofAddress, address, res);
    }
    let principal: Principal | null;
    try {
      principal = await authenticated(req, res, asked);
    } catch (error) {
      if (isFault(error)) {
        known.forget(req);
        await counted(ofAddress, address, res);
      }
      throw error;
    }
    if (principal === null) {
      await counted(ofAddress, address, res);
      return null;
    }
    known.remember(req, principal.keyId);
    const limit = asked.operation?.transport === 'otlp' ? ingest : ofPrincipal;
    await counted(limit, callerOf(principal), res);
    return principal;
  };
}

/** Counts a request, and says so in its answer. @throws 429 */
async function counted(limit: RateLimit, caller: Caller, res: ServerResponse): Promise<void> {
  const said = limit.count(caller);
  const count = said instanceof Promise ? await said : said;
  for (const [name, value] of Object.entries(headersOf(limit, count))) res.setHeader(name, value);
  if (!count.allowed) throw overLimit(limit, count);
}

/** That the identity provider or the database is away is not the caller's doing. */
function isFault(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500;
}
