import { AsyncLocalStorage } from 'node:async_hooks';

/** For whom statements run, and on which connections. */
type Context = { tenant: string | null; reserved: boolean; holdsGate: boolean };

const contexts = new AsyncLocalStorage<Context>();

/** How a tenant is called here. */
export function tenantKey(tenantId: string): string {
  return `tenant:${tenantId}`;
}

export function isTenantKey(caller: string): boolean {
  return caller.startsWith('tenant:');
}

/** The tenant that a {@link tenantKey} stands for; null for the name of a caller who is of no single tenant. */
export function tenantOfKey(caller: string | null): string | null {
  return caller !== null && isTenantKey(caller) ? caller.slice(tenantKey('').length) : null;
}

/**
 * Runs work on behalf of a tenant: what it asks of the database takes turns with the work of other tenants, and holds no
 * more connections than one tenant may. The work of the service itself runs outside, and is not limited.
 *
 * @param tenant its {@link tenantKey}, or the name of a caller who is of no single tenant
 */
export function runForTenant<T>(tenant: string, work: () => T): T {
  return contexts.run({ tenant, reserved: false, holdsGate: false }, work);
}

/** Runs work on a connection that nothing else uses, where the database has a pool: for readiness checks. */
export function runOnReservedConnection<T>(work: () => T): T {
  return contexts.run({ tenant: null, reserved: true, holdsGate: false }, work);
}

/** Runs work that holds its tenant's write gate exclusively: its transactions do not ask for it. */
export function runHoldingGate<T>(work: () => T): T {
  return contexts.run({ tenant: currentTenant(), reserved: false, holdsGate: true }, work);
}

/** The tenant that the running code works for; null: the service itself. */
export function currentTenant(): string | null {
  return contexts.getStore()?.tenant ?? null;
}

export function usesReservedConnection(): boolean {
  return contexts.getStore()?.reserved ?? false;
}

export function holdsGate(): boolean {
  return contexts.getStore()?.holdsGate ?? false;
}
