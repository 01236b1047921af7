import { Connection, StatusError } from '../connection.ts';
import { between } from '../random.ts';
import { ADMIN, type Service } from '../service.ts';
import { Ledger } from './ledger.ts';
import {
  accounts,
  governance,
  ingest,
  keys,
  makeWorld,
  sessions,
  updates,
  type World,
  type Writer,
} from './writers.ts';

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
  await Promise.all(WRITERS.map((writer) => writeOn(writer, { service, ledger, world, random })));
  await killing.promise;
  return ledger;
}

/** Writes until the service is killed. @throws what no kill explains */
async function writeOn(
  writer: Writer,
  { service, ledger, world, random }: { service: Service; ledger: Ledger; world: World; random: () => number },
): Promise<void> {
  const connection = new Connection(service.url, ADMIN);
  try {
    await writer({ connection, ledger, world, random });
  } catch (error) {
    const ended = error instanceof Error && ('code' in error || (error instanceof StatusError && error.status === 503));
    if (!ended || !ledger.killed) throw error;
  } finally {
    connection.close();
  }
}
