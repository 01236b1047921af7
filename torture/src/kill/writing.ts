import { Connection, StatusError } from '../connection.ts';
import { between } from '../random.ts';
import { ADMIN, type Service } from '../service.ts';
import { isRefused, Ledger } from './ledger.ts';
import {
  accounts,
  type Desk,
  governance,
  ingest,
  ingestSmall,
  keys,
  makeWorld,
  sessions,
  updates,
  type Writer,
} from './writers.ts';

/** The concurrent writers. Each has its own connection. */
const WRITERS: readonly Writer[] = [
  accounts,
  accounts,
  keys,
  updates,
  sessions,
  governance,
  ingest,
  ingest,
  ingestSmall,
  ingestSmall,
  ingestSmall,
  ingestSmall,
];

/** Writes that are acknowledged before each kill: at least 80, and a random number up to 120 more. */
const LEAST_ACKNOWLEDGED = 80;
const MORE_ACKNOWLEDGED = 120;

type Loop = {
  service: Service;
  tenantId: string;
  random: () => number;
  kill: () => Promise<unknown>;
  /** Operations that are acknowledged before the kill, whatever their number. */
  operations?: readonly string[];
};

/**
 * Lets all writers write to a new tenant, and calls `kill` once enough is acknowledged.
 *
 * @returns what they sent, and what was acknowledged
 */
export async function writeUntilKilled({ service, tenantId, random, kill, operations = [] }: Loop): Promise<Ledger> {
  const enough = LEAST_ACKNOWLEDGED + between(random, 0, MORE_ACKNOWLEDGED);
  const moment = random() * 3;
  const killing = Promise.withResolvers<unknown>();
  const ledger = new Ledger(tenantId, ({ acknowledged, killed, entries }) => {
    if (killed || acknowledged < enough) return;
    const done = new Set([...entries.values()].flatMap((entry) => entry.operations));
    if (operations.some((operation) => !done.has(operation))) return;
    ledger.killed = true;
    // Not exactly at the acknowledgement, when the other writes may all be at the same step.
    setTimeout(() => kill().then(killing.resolve, killing.reject), moment);
  });
  const setUp = new Connection(service.url, ADMIN);
  const world = await makeWorld(setUp, ledger);
  setUp.close();
  const desks = WRITERS.map((writer) => ({ writer, connection: new Connection(service.url, ADMIN) }));
  const end = () => {
    for (const { connection } of desks) connection.close();
  };
  // If the kill itself fails, nothing else would end the writers.
  killing.promise.catch(end);
  try {
    await Promise.all(desks.map(({ writer, connection }) => writeOn(writer, { connection, ledger, world, random })));
    await killing.promise;
  } finally {
    end();
  }
  return ledger;
}

/** Writes until the service is killed. @throws errors that the kill does not explain */
async function writeOn(writer: Writer, desk: Desk): Promise<void> {
  try {
    await writer(desk);
  } catch (error) {
    const ended =
      error instanceof Error && ('code' in error || (error instanceof StatusError && isRefused(error.status)));
    if (!ended || !desk.ledger.killed) throw error;
  }
}
