import type { Grant } from './access.ts';
import { connectService, type OpenInput } from './service.ts';
import { type Credential, type GuardedSession, Session, type SessionOptions } from './session.ts';
import { grantsOf, KeySet, verifySessionToken } from './token.ts';

export type { Decision, Grant, ItemKind, Mode, Use } from './access.ts';
export { type Checker, createChecker, type Denial, type Named, type ProviderOf } from './checker.ts';
export { AccessDenied, describeDenial, GuardError, type GuardErrorCode } from './errors.ts';
export type { GuardedSession, Known } from './session.ts';

export type GuardOptions = {
  /** The public URL of the Quartermaster service, as in the claim `iss` of its tokens. */
  issuer: string;
  gatewayId: string;
  fetch?: typeof fetch;
  /** How long an answer of the service decides, in seconds: 0 to 5, 2 by default. */
  freshSeconds?: number;
  /**
   * How much longer the last answer decides while the service does not answer, in seconds. 0 by default: then nothing is
   * allowed.
   */
  trustLastAnswerSeconds?: number;
  /**
   * Whether the grants of the token decide while the service does not answer, until the token expires. Revocations are not
   * seen.
   */
  offline?: boolean;
};

export type OpenOptions = OpenInput & {
  /** An API key of the agent's account with the scope `gateway_sessions:write`. */
  apiKey: string;
};

export interface Guard {
  /**
   * Verifies a session token that an agent has sent, and reads what the session may use. The same token gives the same session.
   *
   * @param grants what the session grants, for a token that holds only their digest; needed for `offline` alone
   * @throws GuardError `token_invalid`, `ended` or `unavailable`
   */
  session(token: string, options?: { grants?: readonly Grant[] }): Promise<GuardedSession>;
  /**
   * Opens a session. It is renewed before it expires, and opened again after a block of an item has ended it.
   *
   * @throws GuardError `open_refused` or `unavailable`
   */
  open(options: OpenOptions): Promise<GuardedSession>;
}

/** How many sessions a guard remembers. */
const MAX_SESSIONS = 1000;

/** The guard of one gateway. It decides what the sessions of the gateway may use. */
export function createGuard(options: GuardOptions): Guard {
  const { gatewayId, freshSeconds = 2, trustLastAnswerSeconds = 0, offline = false } = options;
  if (!(freshSeconds >= 0 && freshSeconds <= 5)) throw new RangeError('freshSeconds must be from 0 to 5');
  if (!(trustLastAnswerSeconds >= 0)) throw new RangeError('trustLastAnswerSeconds must not be negative');
  const issuer = options.issuer.replace(/\/+$/, '');
  const service = connectService({ ...options, issuer });
  const keys = new KeySet(() => service.keys());
  const sessions = new Map<string, Promise<Session>>();
  const settings: SessionOptions = {
    service,
    freshMs: freshSeconds * 1000,
    trustLastAnswerMs: trustLastAnswerSeconds * 1000,
    offline,
  };

  async function verified(token: string, given?: readonly Grant[]): Promise<Credential> {
    const claims = await verifySessionToken(token, { issuer, gatewayId, keys });
    return { token, claims, grants: await grantsOf(claims, given) };
  }

  /** Verifies each token once. A token that is refused is not remembered. */
  async function remembered(token: string, given: readonly Grant[] | undefined): Promise<Session> {
    const session =
      sessions.get(token) ?? verified(token, given).then((credential) => new Session(credential, settings));
    sessions.delete(token);
    const oldest = sessions.size >= MAX_SESSIONS ? sessions.keys().next().value : undefined;
    if (oldest !== undefined) sessions.delete(oldest);
    sessions.set(token, session);
    try {
      return await session;
    } catch (error) {
      if (sessions.get(token) === session) sessions.delete(token);
      throw error;
    }
  }

  return {
    async session(token, { grants } = {}) {
      const session = await remembered(token, grants);
      await session.refresh();
      return session;
    },

    async open({ apiKey, ...input }) {
      const reopen = async () => verified(await service.open(apiKey, input));
      const session = new Session(await reopen(), { ...settings, reopen });
      await session.refresh();
      return session;
    },
  };
}
