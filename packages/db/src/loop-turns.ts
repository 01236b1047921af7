import { FairQueue } from './fair-queue.ts';
import { currentTenant, holdsWriter } from './tenant-context.ts';

/** How long one turn of the event loop may work through a loop of statements, in milliseconds. */
const TURN_MS = 10;

/** After this time, a tenant that has had work in this turn starts no further request in it. In milliseconds. */
const START_MS = 4;

/** After so many turns in a row the transaction on SQLite's writing connection no longer has priority over other work of its tenant. */
const PRIORITY_TURNS = 4;

/** A turn lasts from one check phase of the event loop to the next one. Null before its first work. */
let turnBegan: number | null = null;

/** The tenants that had work in this turn. */
const tenantsOfTurn = new Set<string | null>();

/** Work that waits for a later turn. */
const waiting = new FairQueue<() => void>();

/** Transactions on SQLite's writing connection that wait. A process with one database has one at a time. */
let waitingWriters: { tenant: string | null; resume: () => void }[] = [];
let priorityTurns = 0;
let isServing = false;

/**
 * Yields to the event loop if the current turn has worked for {@link TURN_MS}. SQLite answers synchronously, so a long loop of
 * statements would otherwise block every other request.
 *
 * In each turn one piece of waiting work goes on, and tenants take turns. So a tenant with many long requests delays the others
 * by one piece in a turn, not by one for each request. A transaction on SQLite's writing connection goes first, because every
 * other write waits for it; meanwhile only other tenants' work goes on beside it.
 */
export async function yieldWhenDue(): Promise<void> {
  if (ageOfTurn() >= TURN_MS) await laterTurn(currentTenant());
  noteWork(currentTenant());
}

/**
 * Waits for a later turn of the event loop if the tenant had work in this one, and the turn is no longer short. Requests arrive
 * many at a time. Without it, all those of one tenant would run before the next request of another tenant is even read.
 */
export async function yieldToOtherTenants(tenant: string): Promise<void> {
  if (ageOfTurn() >= START_MS && tenantsOfTurn.has(tenant)) await laterTurn(tenant);
  noteWork(tenant);
}

function ageOfTurn(): number {
  return turnBegan === null ? 0 : performance.now() - turnBegan;
}

function noteWork(tenant: string | null): void {
  tenantsOfTurn.add(tenant);
  if (turnBegan !== null) return;
  turnBegan = performance.now();
  setImmediate(endTurn);
}

function endTurn(): void {
  turnBegan = null;
  tenantsOfTurn.clear();
}

function laterTurn(tenant: string | null): Promise<void> {
  return new Promise((resolve) => {
    if (holdsWriter()) waitingWriters.push({ tenant, resume: resolve });
    // A tenant with a full line does not wait.
    else if (!waiting.push(tenant, resolve)) resolve();
    serveLater();
  });
}

function serveLater(): void {
  if (isServing) return;
  isServing = true;
  setImmediate(serve);
}

function serve(): void {
  isServing = false;
  endTurn();
  const writers = waitingWriters;
  waitingWriters = [];
  priorityTurns = writers.length === 0 ? 0 : priorityTurns + 1;
  const hasPriority = priorityTurns % PRIORITY_TURNS !== 0;
  for (const { resume } of writers) resume();
  waiting.shift((tenant) => !hasPriority || writers.every((writer) => writer.tenant !== tenant))?.();
  if (!waiting.isEmpty) serveLater();
}
