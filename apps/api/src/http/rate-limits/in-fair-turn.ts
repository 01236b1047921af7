import type { Operation } from '@quartermaster/contracts/operation.ts';
import { tenantKey } from '@quartermaster/db/tenant-context.ts';
import type { Context } from '../context.ts';
import { callerAt, callerOf } from './limits.ts';

/**
 * Runs the work of a request when it is the caller's turn. The accounts of a tenant share its turns. Users and addresses have
 * turns of their own. An operation that waits for another server takes no turn: it may last a minute, but needs little CPU.
 */
export function inFairTurn<T>(
  { services, principal, address }: Pick<Context, 'services' | 'principal' | 'address'>,
  operation: Pick<Operation, 'idempotency' | 'transport'>,
  work: () => Promise<T>,
): Promise<T> {
  if (operation.idempotency === 'lease') return work();
  const mayPause = operation.idempotency !== 'none' || operation.transport === 'otlp';
  const { id, tenantId } = principal === null ? callerAt(address) : callerOf(principal);
  return services.turns.run(tenantId === '' ? id : tenantKey(tenantId), { mayPause }, work);
}
