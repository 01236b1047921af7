import { AsyncLocalStorage } from 'node:async_hooks';

/** For whom statements run, and on which connections. */
type Context = { tenant: string | null; reserved: boolean };

const contexts = new AsyncLocalStorage<Context>();

/**
 * Runs work on behalf of a tenant: what it asks of the database takes turns with the work of other tenants, and holds no
 * more connections than one tenant may. The work of the service itself runs outside, and is not limited.
 *
 * @param tenant whatever tells tenants apart
 */
export function runForTenant<T>(tenant: string, work: () => T): T {
  return contexts.run({ tenant, reserved: false }, work);
}

/** Runs work on a connection that nothing else uses, where the database has a pool: for readiness checks. */
export function runOnReservedConnection<T>(work: () => T): T {
  return contexts.run({ tenant: null, reserved: true }, work);
}

/** The tenant that the running code works for; null: the service itself. */
export function currentTenant(): string | null {
  return contexts.getStore()?.tenant ?? null;
}

export function usesReservedConnection(): boolean {
  return contexts.getStore()?.reserved ?? false;
}
