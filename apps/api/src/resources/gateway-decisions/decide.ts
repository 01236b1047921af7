import type { Denial } from '@quartermaster/contracts/denials.ts';
import type { DecisionPoint } from '@quartermaster/contracts/gateway-decisions.ts';
import type { Enforcement } from '@quartermaster/contracts/gateways.ts';
import type { InventoryKind } from '@quartermaster/contracts/inventory.ts';
import type { OperatorTask } from '@quartermaster/contracts/operator-tasks.ts';
import type { Database } from '@quartermaster/db/database.ts';
import type { SessionState } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { findGateway } from '@quartermaster/db/repositories/gateways.ts';
import { findLastOperatorTask } from '@quartermaster/db/repositories/operator-tasks.ts';
import { EVERYWHERE, type TenantPlace, wholeTenant } from '@quartermaster/db/tenancy.ts';
import { reviewTask } from '../../governance/observations/review-task.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Services } from '../../platform/services.ts';
import { type CompiledPolicy, type CompiledProvider, compilePolicy } from '../gateway-sessions/policy.ts';
import { type Decided, DecisionLog } from './decision-log.ts';
import { LiveCache, whenKnown } from './live-cache.ts';
import { SessionStates } from './session-states.ts';
import { type SessionClaims, SessionTokens } from './session-tokens.ts';

/** The most sessions, gateways and review tasks in the caches. */
const MAX_SESSIONS = 50_000;
const MAX_GATEWAYS = 1000;
const MAX_REVIEW_TASKS = 10_000;

/** A session that is active now, at its gateway. */
export type LiveSession = {
  state: SessionState;
  policy: CompiledPolicy;
  /** When the token or the session ends, whichever is earlier. In milliseconds since 1970. */
  endsAt: number;
};

/**
 * Whom a decision is about: a session, or an account without a session. For an account `state.id` is null, and the gateway's
 * policy alone decides.
 */
export type DecidedSubject = Pick<LiveSession, 'policy'> & {
  state: TenantPlace & Pick<SessionState, 'subject' | 'providerIds'> & { id: string | null };
};

/** Something that an agent wants to use. */
export type Asked = {
  /** Undefined: the gateway lists no such provider. */
  provider: CompiledProvider | undefined;
  kind: InventoryKind;
  name: string;
};

export type Decision = {
  /** Whether the use may go on. In the mode `observe` it always may. */
  allowed: boolean;
  /** Why it is denied, or would be in the mode `enforce`. Null: the session may use it. */
  reason: Denial | null;
  mode: Enforcement;
  decided: Decided;
};

type DecisionServices = Pick<
  Services,
  'db' | 'secrets' | 'publicUrl' | 'now' | 'scheduler' | 'metrics' | 'log' | 'tenantLimits' | 'telemetry'
>;

/**
 * Decides whether a session may use something now. A token is a snapshot, a decision is live: it uses what was read from the
 * database at most 5 s ago. Most decisions run no statement.
 */
export class Decisions {
  readonly #services: DecisionServices;
  readonly #tokens: SessionTokens;
  readonly #states: LiveCache<SessionState | undefined>;
  readonly #policies: LiveCache<CompiledPolicy | undefined>;
  readonly #reviewTasks: LiveCache<OperatorTask | undefined>;
  readonly #log: DecisionLog;

  constructor(services: DecisionServices, freshMs?: number) {
    this.#services = services;
    this.#tokens = new SessionTokens(services);
    this.#log = new DecisionLog(services);
    const states = new SessionStates(services.db);
    const fresh = freshMs === undefined ? {} : { freshMs };
    this.#states = new LiveCache({
      most: MAX_SESSIONS,
      load: (key) => {
        const [tenantId = '', id = ''] = key.split(' ');
        return states.read(tenantId, id);
      },
      ...fresh,
    });
    this.#reviewTasks = new LiveCache({
      most: MAX_REVIEW_TASKS,
      load: (key) => {
        const [tenantId = '', id = ''] = key.split(' ');
        return findLastOperatorTask(services.db, wholeTenant(tenantId), reviewTask({ id }), services.now());
      },
      ...fresh,
    });
    this.#policies = new LiveCache({ most: MAX_GATEWAYS, load: (id) => this.#compile(services.db, id), ...fresh });
  }

  /**
   * The session of a token, at the gateway of the request's path. Returns a promise only if the token has to be verified, or
   * something has to be read, first.
   *
   * @throws ApiError 401 `session_token_invalid` or `gateway_session_ended`
   */
  session(token: string | null, gatewayId: string): LiveSession | Promise<LiveSession> {
    return whenKnown(token === null ? null : this.#tokens.verify(token), (claims) => {
      if (claims === null || claims.gatewayId !== gatewayId) throw invalidToken();
      return this.#liveSession(claims);
    });
  }

  /**
   * A session of a gateway by its id, for callers who may ask about the sessions of others.
   *
   * @throws ApiError 401 `session_token_invalid` or `gateway_session_ended`
   */
  async sessionWithId(sessionId: string, { gateway }: CompiledPolicy): Promise<LiveSession> {
    const { tenantId, id: gatewayId } = gateway;
    return this.#liveSession({ sessionId, tenantId, gatewayId, expiresAt: Number.POSITIVE_INFINITY });
  }

  /** What a gateway allows now. Undefined if there is no such gateway. */
  policyOf(gatewayId: string): CompiledPolicy | undefined | Promise<CompiledPolicy | undefined> {
    return this.#policies.get(gatewayId);
  }

  #liveSession({ sessionId, tenantId, gatewayId, expiresAt }: SessionClaims): LiveSession | Promise<LiveSession> {
    return whenKnown(this.#states.get(`${tenantId} ${sessionId}`), (state) => {
      if (state === undefined || state.gatewayId !== gatewayId) throw invalidToken();
      const endsAt = Math.min(expiresAt, Date.parse(state.expiresAt));
      if (state.revokedReason !== null) throw ended(state.revokedReason);
      if (endsAt <= this.#services.now().getTime()) throw ended('expired');
      return whenKnown(this.#policies.get(gatewayId), (policy) => {
        if (policy?.gateway.status !== 'active') throw ended('gateway_ended');
        return { state, policy, endsAt };
      });
    });
  }

  /** Decides about one use, and counts it. @param attempts how many uses it stands for */
  decide(
    session: DecidedSubject,
    asked: Asked,
    { point, attempts = 1 }: { point: DecisionPoint; attempts?: number },
  ): Decision {
    const reason = reasonOf(session, asked);
    const mode = session.policy.gateway.enforcement;
    const allowed = reason === null || mode === 'observe';
    const { state, policy } = session;
    const { provider, kind, name } = asked;
    const decided: Decided = {
      place: { tenantId: state.tenantId, subTenantId: state.subTenantId },
      gatewayId: policy.gateway.id,
      sessionId: state.id,
      account: state.subject,
      providerId: provider?.provider.id ?? null,
      kind,
      name,
      point,
      mode,
      reason,
      attempts,
    };
    this.#log.note(decided);
    const outcome = allowed ? 'allowed' : 'denied';
    this.#services.metrics.decisions.inc({ point, mode, outcome, reason: reason ?? '' });
    return { allowed, reason, mode, decided };
  }

  /** The id of the observation that counts a denial. Waits a moment for a new one. Null if there is none yet, or no denial. */
  async observationOf({ reason, decided }: Decision): Promise<string | null> {
    return reason === null ? null : this.#log.observationOf(decided);
  }

  /** The last review task about an observation that counts a denial. */
  async reviewTaskOf({ decided: { place } }: Decision, observationId: string): Promise<OperatorTask | undefined> {
    return this.#reviewTasks.get(`${place.tenantId} ${observationId}`);
  }

  /** Writes the counts that wait in memory. */
  flush(): Promise<void> {
    return this.#log.flush();
  }

  /** Takes turns with other tenants (see `Scheduler`), because an inventory may have thousands of items. */
  async #compile(db: Database, gatewayId: string): Promise<CompiledPolicy | undefined> {
    const gateway = await findGateway(db, EVERYWHERE, gatewayId);
    if (!gateway) return undefined;
    return this.#services.scheduler.runWithoutLine(gateway.tenantId, () => compilePolicy(db, gateway));
  }
}

/** Why a session may not use something. Null: it may. Unlike {@link Decisions.decide}, this counts nothing. */
export function reasonOf({ state }: DecidedSubject, { provider, kind, name }: Asked): Denial | null {
  if (provider === undefined) return 'provider_not_listed';
  if (state.providerIds !== null && !state.providerIds.includes(provider.provider.id)) return 'provider_not_in_session';
  const verdict = provider.verdict(kind, name);
  return verdict === 'allowed' ? null : verdict;
}

function invalidToken(): ApiError {
  const detail = 'The request has no token of an active session of this gateway.';
  return new ApiError('session_token_invalid', detail, {
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
}

function ended(reason: string): ApiError {
  return new ApiError('gateway_session_ended', 'The session has ended. Open a new one.', {
    reason,
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  });
}
