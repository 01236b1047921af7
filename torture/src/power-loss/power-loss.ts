import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '../connection.ts';
import { type Finding, finding, notRun, type Options, type Part } from '../part.ts';
import { ADMIN, startService } from '../service.ts';
import { childrenOf, onEachStore, type Store, temporaryFolder } from '../stores.ts';
import { type DatabaseLog, idOf, idsIn, PostgresLog, SqliteLog } from './logs.ts';
import { hasStrace, momentsOf } from './strace.ts';

const REQUESTS = { long: 400, short: 48 };
const CONNECTIONS = 8;

/** How many bytes of a call strace shows: enough for a page with its frame header, and for an answer. */
const SHOWN = 8192;

const CALLS = 'trace=pwrite64,fsync,fdatasync,write,writev,sendto,sendmsg,recvfrom';

/**
 * Watches the system calls of the service, and of the database server if there is one, while several clients write. The bytes
 * of an answer must be sent after the log that commits its write is synced.
 */
export const powerLoss: Part = {
  name: 'power-loss',
  run: ({ short }: Options) => onEachStore((store) => watched(store, short ? REQUESTS.short : REQUESTS.long)),
};

async function watched(store: Store, requests: number): Promise<Finding> {
  const promise = `power loss, ${store.name}: an answer leaves only after the fsync of what it acknowledges`;
  if (!hasStrace()) return notRun(promise, 'not run: strace missing');
  const folder = await temporaryFolder();
  try {
    const trace = join(folder, 'trace');
    await write(store, trace, requests);
    const log = store.server ? new PostgresLog() : new SqliteLog();
    const { answers, faults } = followed(await readFile(trace, 'latin1'), log);
    if (answers !== requests) faults.push(`${answers} answers were seen of ${requests}`);
    const { syncs } = log;
    const measured = `${answers} answers, each after its sync; ${syncs} syncs of the log, ${CONNECTIONS} clients at once`;
    return finding({ promise, measured, figures: { answers, syncs }, faults });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function write({ url, server }: Store, trace: string, requests: number): Promise<void> {
  const others = (await server?.processes()) ?? [];
  const wrapper = [
    'strace',
    '-f',
    '-y',
    '-xx',
    '-s',
    String(SHOWN),
    '-e',
    CALLS,
    '-e',
    'signal=none',
    '-o',
    trace,
    ...others.flatMap((pid) => ['-p', String(pid)]),
  ];
  const service = await startService({ databaseUrl: url, wrapper });
  try {
    let next = 0;
    const client = async () => {
      const connection = new Connection(service.url, ADMIN);
      for (next += 1; next <= requests; next += 1) {
        const id = idOf(next);
        await connection.ok('POST', '/v1/service-accounts', { body: { id, name: id, tenantId: 'power' } });
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
  } finally {
    // strace does not pass signals on, and ends when all watched processes have ended.
    for (const pid of await childrenOf(service.process.pid ?? 0)) process.kill(pid, 'SIGTERM');
    await server?.kill();
    await service.ended;
  }
}

/** Replays the calls. Checks for each sent answer that its write would survive a power loss at that moment. */
export function followed(text: string, log: DatabaseLog): { answers: number; faults: string[] } {
  const faults: string[] = [];
  let answers = 0;
  for (const moment of momentsOf(text)) {
    log.take(moment);
    if (moment.at === 'end' || !moment.file.startsWith('socket:') || !moment.bytes.includes('HTTP/1.1 200')) continue;
    for (const id of idsIn(moment.bytes)) {
      answers += 1;
      if (!log.durable.has(id)) faults.push(`${id} was answered before it was synced`);
    }
  }
  return { answers, faults };
}
