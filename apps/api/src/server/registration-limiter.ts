import ipaddr from 'ipaddr.js';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from '../errors.ts';

/** Registrations that one address may send a minute. */
const POINTS = 10;
const SECONDS = 60;

/** Asked for every registration. @throws 429 with Retry-After */
export type RegistrationLimiter = { consume(address: string): Promise<void> };

export function registrationLimiter(enabled: boolean): RegistrationLimiter {
  if (!enabled) return { consume: async () => {} };
  const limiter = new RateLimiterMemory({ points: POINTS, duration: SECONDS });
  return {
    async consume(address) {
      try {
        await limiter.consume(networkOf(address));
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        const seconds = String(Math.max(1, Math.ceil(error.msBeforeNext / 1000)));
        throw new ApiError('rate_limited', `At most ${POINTS} registrations a minute from one address.`, {
          headers: { 'Retry-After': seconds },
        });
      }
    },
  };
}

/** An IPv4 address, or the /64 of an IPv6 one: a single subscriber has that many. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : parsed.toByteArray().slice(0, 8).join('.');
}
