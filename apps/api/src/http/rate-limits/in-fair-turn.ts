import type { Operation } from '@quartermaster/contracts/operation.ts';
import { onlyTenantOf, type Principal, tenantOfCaller } from '../../auth/principal.ts';
import type { TurnTaker } from '../../platform/fair-turns.ts';
import type { Services } from '../../platform/services.ts';
import type { Context } from '../context.ts';
import { callerAt, callerOf } from './limits.ts';

/**
 * Points that the users of a tenant may use in a minute before their writes pause for the delays of their tenant. So a person can
 * stop a program of the tenant that delays others, without having to wait for it.
 */
const PROMPT_POINTS = 60;

/**
 * Runs the work of a request when it is the caller's turn. The accounts of a tenant share its turns, and its users share others.
 * Users of several tenants and addresses have turns of their own. An operation that waits for another server takes no turn: it may
 * last a minute, but needs little CPU.
 */
export function inFairTurn<T>(
  { services, principal, address }: Pick<Context, 'services' | 'principal' | 'address'>,
  operation: Pick<Operation, 'idempotency' | 'transport'>,
  work: () => Promise<T>,
): Promise<T> {
  if (operation.idempotency === 'lease') return work();
  const isWrite = operation.idempotency !== 'none' || operation.transport === 'otlp';
  const mayPause = isWrite && !isPrompt(services, principal);
  return services.turns.run(turnTakerOf(principal, address), { mayPause }, work);
}

function turnTakerOf(principal: Principal | null, address: string): TurnTaker {
  if (principal === null) {
    const { id } = callerAt(address);
    return { name: id, tenant: id };
  }
  const tenant = tenantOfCaller(principal);
  if (onlyTenantOf(principal) === null) return { name: callerOf(principal).id, tenant };
  return { name: principal.kind === 'user' ? `users of ${tenant}` : tenant, tenant };
}

/** Whether a caller is a user of one tenant, whose users have sent few requests in this minute. */
function isPrompt({ requestsOfUsers }: Services, principal: Principal | null): boolean {
  if (principal?.kind !== 'user') return false;
  const tenantId = onlyTenantOf(principal);
  return tenantId !== null && requestsOfUsers(tenantId) <= PROMPT_POINTS;
}
