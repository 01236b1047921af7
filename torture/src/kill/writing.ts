import { Connection, StatusError } from '../connection.ts';
import { between } from '../random.ts';
import { ADMIN, type Service } from '../service.ts';
import { Ledger } from './ledger.ts';
import { accounts, type Desk, governance, ingest, keys, makeWorld, sessions, updates, type Writer } from './writers.ts';

/** Who writes at once, each over a connection of its own. */
const WRITERS: readonly Writer[] = [accounts, accounts, keys, updates, sessions, ingest, ingest, governance];

/** So many writes are acknowledged before each kill, and up to so many more. */
const LEAST_ACKNOWLEDGED = 50;
const MORE_ACKNOWLEDGED = 80;

type Loop = { service: Service; tenantId: string; random: () => number; kill: () => Promise<unknown> };

/**
 * Lets all writers write in a tenant of their own, and kills what is to be killed once enough is acknowledged.
 *
 * @returns what they sent, and what of it was acknowledged
 */
export async function writeUntilKilled({ service, tenantId, random, kill }: Loop): Promise<Ledger> {
  const enough = LEAST_ACKNOWLEDGED + between(random, 0, MORE_ACKNOWLEDGED);
  const moment = random() * 3;
  const killing = Promise.withResolvers<unknown>();
  const ledger = new Ledger(tenantId, ({ acknowledged, killed }) => {
    if (killed || acknowledged < enough) return;
    ledger.killed = true;
    // Not at the acknowledgement itself, when the others' writes may all be at the same step.
    setTimeout(() => kill().then(killing.resolve, killing.reject), moment);
  });
  const setUp = new Connection(service.url, ADMIN);
  const world = await makeWorld(setUp, ledger);
  setUp.close();
  const desks = WRITERS.map((writer) => ({ writer, connection: new Connection(service.url, ADMIN) }));
  const end = () => {
    for (const { connection } of desks) connection.close();
  };
  // Where the kill itself fails, nothing else would end them.
  killing.promise.catch(end);
  try {
    await Promise.all(desks.map(({ writer, connection }) => writeOn(writer, { connection, ledger, world, random })));
    await killing.promise;
  } finally {
    end();
  }
  return ledger;
}

/** Writes until the service is killed. @throws what no kill explains */
async function writeOn(writer: Writer, desk: Desk): Promise<void> {
  try {
    await writer(desk);
  } catch (error) {
    const ended = error instanceof Error && ('code' in error || (error instanceof StatusError && error.status === 503));
    if (!ended || !desk.ledger.killed) throw error;
  }
}
