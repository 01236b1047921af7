import { AsyncLocalStorage } from 'node:async_hooks';
import { CpuStopwatch } from './cpu-stopwatch.ts';

/** A request's turn at the event loop. The server's scheduler gives it. */
export type Turn = {
  /** Until when the request may wait for anything, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /**
   * Whether the request has run for so long that others should have a turn.
   *
   * @param isWriter whether it holds SQLite's writing connection
   */
  isOver(isWriter: boolean): boolean;
  /** Waits for the next turn. @param isUrgent whether others wait for what the request holds */
  next(isUrgent: boolean): Promise<void>;
  /** Notes that a transaction held SQLite's writing connection. @param cpuMs the CPU time of its own work, in milliseconds */
  hold(cpuMs: number): void;
};

/** The tenant that statements run for, its turn, and how they use connections and the write gate. */
type Context = {
  tenant: string | null;
  turn: Turn | null;
  reserved: boolean;
  isGateHolder: boolean;
  /** Measures a transaction while it holds SQLite's writing connection. Null otherwise. */
  writerStopwatch: CpuStopwatch | null;
};

const NO_CONTEXT: Context = { tenant: null, turn: null, reserved: false, isGateHolder: false, writerStopwatch: null };

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
 * than one tenant may. The service's own work is not limited.
 *
 * @param tenant its {@link tenantKey}, or the name of a caller that belongs to no single tenant. Null: the service itself
 */
export function runForTenant<T>(tenant: string | null, work: () => T, turn: Turn | null = null): T {
  return contexts.run({ ...NO_CONTEXT, tenant, turn }, work);
}

/** Runs a readiness check. On Postgres it uses a connection that is reserved for these checks. */
export function runOnReservedConnection<T>(work: () => T): T {
  return contexts.run({ ...NO_CONTEXT, reserved: true }, work);
}

/** Runs work that has closed its tenant's write gate. Its own transactions do not enter the gate. */
export function runAsGateHolder<T>(work: () => T): T {
  return contexts.run({ ...NO_CONTEXT, ...contexts.getStore(), isGateHolder: true }, work);
}

/** Runs a transaction that holds SQLite's writing connection, and tells its turn how long it worked. */
export async function runAsWriter<T>(work: () => Promise<T>): Promise<T> {
  const stopwatch = new CpuStopwatch();
  try {
    return await contexts.run({ ...NO_CONTEXT, ...contexts.getStore(), writerStopwatch: stopwatch }, work);
  } finally {
    currentTurn()?.hold(stopwatch.stop());
  }
}

/** The tenant that the running code works for. Null for the service itself. */
export function currentTenant(): string | null {
  return contexts.getStore()?.tenant ?? null;
}

/** The turn of the running request. Null for work that has none. */
export function currentTurn(): Turn | null {
  return contexts.getStore()?.turn ?? null;
}

export function usesReservedConnection(): boolean {
  return contexts.getStore()?.reserved ?? false;
}

export function isGateHolder(): boolean {
  return contexts.getStore()?.isGateHolder ?? false;
}

/** The stopwatch of the running transaction, if it holds SQLite's writing connection. */
export function writerStopwatch(): CpuStopwatch | null {
  return contexts.getStore()?.writerStopwatch ?? null;
}
