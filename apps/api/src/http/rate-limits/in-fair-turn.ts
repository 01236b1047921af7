import type { Operation } from '@quartermaster/contracts/operation.ts';
import { onlyTenantOf, type Principal, principalName, tenantOfCaller } from '../../auth/principal.ts';
import type { Kind, TurnTaker } from '../../platform/fair-turns.ts';
import { type Context, STRANGERS } from '../context.ts';
import { callerAt } from './limits.ts';

type Caller = Pick<Context, 'services' | 'principal' | 'address'>;
type Work<T> = (worksFor: string, waitedMs: number) => Promise<T>;

/**
 * Runs the work of a request when it is the caller's turn. The accounts of a tenant share its turns, and its users share others.
 * Users of several tenants and addresses have turns of their own. An operation that waits for another server takes no turn: it may
 * last a minute, but needs little CPU.
 *
 * @param work gets the name under which the database counts it, and how long the request waited for its turn
 */
export function inFairTurn<T>(
  caller: Caller,
  operation: Pick<Operation, 'idempotency' | 'transport' | 'scope'>,
  work: Work<T>,
): Promise<T> {
  const { principal, services } = caller;
  const kind = kindOf(caller, operation);
  if (operation.idempotency === 'lease') return work(worksFor(principal, kind), 0);
  const since = performance.now();
  return services.turns.run(turnTakerOf(caller), kind, () =>
    work(worksFor(principal, kind), performance.now() - since),
  );
}

/** A write that needs no scope, such as one of the own profile, is not prompt: any member could use up the prompt ones with it. */
function kindOf(
  { services, principal }: Caller,
  { idempotency, transport, scope }: Pick<Operation, 'idempotency' | 'transport' | 'scope'>,
): Kind {
  if (transport === 'otlp') return 'write';
  if (idempotency === 'none') return 'read';
  if (principal?.kind !== 'user' || scope === null || scope === 'public') return 'write';
  const tenantId = onlyTenantOf(principal);
  return tenantId !== null && services.promptWrites.take(tenantId) ? 'prompt' : 'write';
}

/** Whose requests share turns with those of a caller. */
export function turnTakerOf({ principal, address }: Pick<Caller, 'principal' | 'address'>): TurnTaker {
  if (principal === null) {
    const { id } = callerAt(address);
    return { name: id, tenant: id };
  }
  const tenant = tenantOfCaller(principal);
  const isUserOfTenant = principal.kind === 'user' && onlyTenantOf(principal) !== null;
  return { name: isUserOfTenant ? `users of ${tenant}` : tenant, tenant };
}

/** A prompt write is the user's own, so that it does not give way together with the programs of the tenant. */
function worksFor(principal: Principal | null, kind: Kind): string {
  if (principal === null) return STRANGERS;
  return kind === 'prompt' ? principalName(principal) : tenantOfCaller(principal);
}
