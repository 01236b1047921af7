import { FairQueue } from './fair-queue.ts';
import { givesWay, isLightBesideHeavy, LOOK_AGAIN_MS } from './giving-way.ts';
import { ageOfTurn, endTurn, noteLoopTime } from './loop-time.ts';
import { currentTenant, holdsWriter, isGateHolder, isInTransaction } from './tenant-context.ts';

/** How long a tenant may work in one turn of the event loop, in milliseconds. */
const TURN_MS = 4;

/** The same for a transaction on SQLite's writing connection: other writes wait for its end. */
const WRITER_TURN_MS = 10;

/** After this time, a tenant that has had work in this turn starts no further request in it. In milliseconds. */
const START_MS = 4;

/** Beside a heavy tenant, a light one starts requests until it has worked for so long in this turn. In milliseconds. */
const LIGHT_START_MS = 20;

/** After so many turns in a row the transaction on SQLite's writing connection no longer has priority over other work of its tenant. */
const PRIORITY_TURNS = 4;

/** Work that waits for a later turn. A transaction does not give way: others may wait for the connection and rows that it holds. */
const waiting = new FairQueue<{ resume: () => void; mayGiveWay: boolean }>();

/** Transactions on SQLite's writing connection that wait. A process with one database has one at a time. */
let waitingWriters: { tenant: string | null; resume: () => void }[] = [];
let priorityTurns = 0;

/** Whether {@link serve} is scheduled for the next turn, and whether for later, while everything that waits gives way. */
let isServing = false;
let isServingLate = false;

/**
 * Yields to the event loop if the tenant has worked for {@link TURN_MS} in the current turn, or for {@link WRITER_TURN_MS}. Each
 * statement of a database calls it, and so do long loops without statements. SQLite answers synchronously, so many statements would
 * otherwise block every other request.
 *
 * In each turn one piece of waiting work goes on, and tenants take turns. So a tenant with many long requests delays the others
 * by one piece in a turn, not by one for each request. A transaction on SQLite's writing connection goes first, because every
 * other write waits for it; meanwhile only other tenants' work goes on beside it.
 */
export async function yieldWhenDue(): Promise<void> {
  if (isYieldDue()) await laterTurn(currentTenant());
  noteLoopTime();
}

/** Whether {@link yieldWhenDue} would yield. It costs less where a caller can do without the promise. */
export function isYieldDue(): boolean {
  return noteLoopTime() >= (holdsWriter() ? WRITER_TURN_MS : TURN_MS);
}

/** Waits while the tenant gives way. For the start of work, before it holds anything that others need. */
export async function giveWay(): Promise<void> {
  if (!holdsSomething() && givesWay(currentTenant())) await laterTurn(currentTenant());
}

/**
 * Waits for a later turn of the event loop if the tenant had work in this one, and the turn is no longer short, or if the tenant
 * gives way. Requests arrive many at a time. Without it, all those of one tenant would run before the next request of
 * another tenant is even read.
 */
export async function yieldToOtherTenants(tenant: string): Promise<void> {
  const ownTime = noteLoopTime(tenant);
  const isLight = () => ownTime < LIGHT_START_MS && isLightBesideHeavy(tenant);
  const isLate = ownTime > 0 && ageOfTurn() >= START_MS && !isLight();
  if (isLate || givesWay(tenant)) await laterTurn(tenant);
  noteLoopTime(tenant);
}

/** Whether the running code is a transaction, or has closed the write gate of its tenant. */
function holdsSomething(): boolean {
  return isInTransaction() || isGateHolder();
}

function laterTurn(tenant: string | null): Promise<void> {
  return new Promise((resolve) => {
    if (holdsWriter()) waitingWriters.push({ tenant, resume: resolve });
    // A tenant with a full line does not wait.
    else if (!waiting.push(tenant, { resume: resolve, mayGiveWay: !holdsSomething() })) resolve();
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
  const isBeside = (tenant: string | null) => hasPriority && writers.some((writer) => writer.tenant === tenant);
  const next = waiting.shift((tenant) => {
    if (isBeside(tenant)) return false;
    return !givesWay(tenant) || (({ mayGiveWay }) => !mayGiveWay);
  });
  next?.resume();
  if (waiting.isEmpty) return;
  if (next || writers.length > 0) serveLater();
  else serveLate();
}

function serveLate(): void {
  if (isServingLate) return;
  isServingLate = true;
  setTimeout(() => {
    isServingLate = false;
    serveLater();
  }, LOOK_AGAIN_MS);
}
