import { AsyncLocalStorage } from 'node:async_hooks';

/** The tenant that statements run for, and how they use connections and the write gate. */
type Context = {
  tenant: string | null;
  reserved: boolean;
  isGateHolder: boolean;
  isInTransaction: boolean;
  holdsWriter: boolean;
};

const NO_CONTEXT: Context = {
  tenant: null,
  reserved: false,
  isGateHolder: false,
  isInTransaction: false,
  holdsWriter: false,
};

const contexts = new AsyncLocalStorage<Context>();

/** The key of a tenant in this context. */
export function tenantKey(tenantId: string): string {
  return `tenant:${tenantId}`;
}

export function isTenantKey(caller: string): boolean {
  return caller.startsWith('tenant:');
}

/** The tenant of a {@link tenantKey}. Null for a caller that belongs to no single tenant. */
export function tenantOfKey(caller: string | null): string | null {
  return caller !== null && isTenantKey(caller) ? caller.slice(tenantKey('').length) : null;
}

/**
 * Runs work on behalf of a tenant. Its database statements take turns with those of other tenants, and hold no more connections
 * than one tenant may. The service's own work runs outside of this, and is not limited.
 *
 * @param tenant its {@link tenantKey}, or the name of a caller that belongs to no single tenant
 */
export function runForTenant<T>(tenant: string, work: () => T): T {
  return contexts.run({ ...NO_CONTEXT, tenant }, work);
}

/** Runs a readiness check. On Postgres it uses a connection that is reserved for these checks. */
export function runOnReservedConnection<T>(work: () => T): T {
  return contexts.run({ ...NO_CONTEXT, reserved: true }, work);
}

/** Runs work that has closed its tenant's write gate. Its own transactions do not enter the gate. */
export function runAsGateHolder<T>(work: () => T): T {
  return contexts.run({ ...NO_CONTEXT, tenant: currentTenant(), isGateHolder: true }, work);
}

/** Runs a transaction. */
export function runInTransaction<T>(work: () => T): T {
  return contexts.run({ ...NO_CONTEXT, ...contexts.getStore(), isInTransaction: true }, work);
}

/** Runs a transaction that holds SQLite's writing connection. */
export function runAsWriter<T>(work: () => T): T {
  return contexts.run({ ...NO_CONTEXT, ...contexts.getStore(), isInTransaction: true, holdsWriter: true }, work);
}

/** The tenant that the running code works for. Null for the service itself. */
export function currentTenant(): string | null {
  return contexts.getStore()?.tenant ?? null;
}

export function usesReservedConnection(): boolean {
  return contexts.getStore()?.reserved ?? false;
}

export function isGateHolder(): boolean {
  return contexts.getStore()?.isGateHolder ?? false;
}

/** Whether the running code is a transaction. Others may wait for what it holds. */
export function isInTransaction(): boolean {
  return contexts.getStore()?.isInTransaction ?? false;
}

/** Whether the running code is a transaction that holds SQLite's writing connection. */
export function holdsWriter(): boolean {
  return contexts.getStore()?.holdsWriter ?? false;
}
