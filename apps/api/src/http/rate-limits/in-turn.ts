import type { Operation } from '@quartermaster/contracts/operation.ts';
import { onlyTenantOf, type Principal, tenantOfCaller } from '../../auth/principal.ts';
import type { Caller } from '../../platform/scheduler.ts';
import type { Services } from '../../platform/services.ts';
import { type Context, STRANGERS } from '../../auth/context.ts';
import { callerAt } from './limits.ts';

/**
 * Runs the work of a request when there is room for it. Requests of all accounts of a tenant share one line, and those of all its
 * users another one. A user of several tenants and an address without credentials each have their own line. An operation that
 * calls another server does not wait in line: it may last a minute, but needs little CPU.
 *
 * @param work gets how long the request has waited, in milliseconds
 * @param deadline of a request that has already waited for something else
 */
export function inTurn<T>(
  { services, principal, address }: Pick<Context, 'principal' | 'address'> & { services: Pick<Services, 'scheduler'> },
  { idempotency, transport }: Pick<Operation, 'idempotency' | 'transport'>,
  work: (waitedMs: number) => Promise<T>,
  deadline?: number,
): Promise<T> {
  const { scheduler } = services;
  const { name, tenant } = schedulerCaller(principal, address);
  if (idempotency === 'lease') return scheduler.runWithoutLine(tenant, () => work(0));
  const kind = idempotency === 'none' && transport !== 'otlp' ? 'read' : 'write';
  return scheduler.run({ name, tenant }, kind, work, deadline);
}

/** The caller as the scheduler knows it. Requests of one such caller wait for each other. */
export function schedulerCaller(principal: Principal | null, address: string): Caller {
  if (principal === null) return { name: callerAt(address).id, tenant: STRANGERS };
  const tenant = tenantOfCaller(principal);
  const isUserOfTenant = principal.kind === 'user' && onlyTenantOf(principal) !== null;
  return { name: isUserOfTenant ? `users of ${tenant}` : tenant, tenant };
}
