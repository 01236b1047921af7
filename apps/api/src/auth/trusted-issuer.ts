import type { Services } from '../platform/services.ts';
import type { AdministratorClaim } from './administrator-claim.ts';
import type { TokenVerifier } from './bearer.ts';

/** The identity provider whose users may sign in. */
export type TrustedIssuer = {
  /** The issuer of bearer tokens; null if none is configured. */
  issuer: string | null;
  /** Verifies bearer tokens; null if no issuer is configured. */
  tokens: TokenVerifier | null;
  /** The claim that makes a user a platform administrator; null if none is configured. */
  administrators: AdministratorClaim | null;
};

/** What authentication needs. Handlers do not get the trusted issuer. */
export type AuthServices = Pick<Services, 'db' | 'log' | 'now' | 'secrets' | 'publicUrl'> & TrustedIssuer;
