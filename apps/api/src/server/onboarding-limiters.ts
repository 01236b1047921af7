import ipaddr from 'ipaddr.js';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ApiError } from '../errors.ts';

/** What one caller may ask for in a minute. */
const POINTS = 10;
const SECONDS = 60;

/** Asked for every registration, by address, or for every new organization, by user. @throws 429 with Retry-After */
export type OnboardingLimiter = { consume(caller: string): Promise<void> };

export function registrationLimiter(enabled: boolean): OnboardingLimiter {
  const limiter = onboardingLimiter(enabled, `At most ${POINTS} registrations a minute from one address.`);
  return { consume: (address) => limiter.consume(networkOf(address)) };
}

/** Whoever asks for an organization learns whether an id is taken: they shall not try many. */
export function organizationLimiter(enabled: boolean): OnboardingLimiter {
  return onboardingLimiter(enabled, `At most ${POINTS} attempts a minute by one user.`);
}

function onboardingLimiter(enabled: boolean, detail: string): OnboardingLimiter {
  if (!enabled) return { consume: async () => {} };
  const limiter = new RateLimiterMemory({ points: POINTS, duration: SECONDS });
  return {
    async consume(caller) {
      try {
        await limiter.consume(caller);
      } catch (error) {
        if (!(error instanceof RateLimiterRes)) throw error;
        const seconds = String(Math.max(1, Math.ceil(error.msBeforeNext / 1000)));
        throw new ApiError('rate_limited', detail, { headers: { 'Retry-After': seconds } });
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
