import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from './connection.ts';
import { finding, notRun, type Options, type Part } from './part.ts';
import { ADMIN, startService } from './service.ts';
import { childrenOf, temporaryFolder } from './stores.ts';
import { hasStrace, type SystemCall, systemCalls } from './strace.ts';

const REQUESTS = { long: 400, short: 48 };
const CONNECTIONS = 8;

/** The bytes of a call that are shown: a page and its frame's head, and an answer. */
const SHOWN = 8192;

const PROMISE = 'power loss: an answer leaves only after the fsync of what it acknowledges';

/**
 * Watches the system calls of the service while several clients write at once: the bytes of an answer must leave after
 * the log frame that commits its write has been synced.
 */
export const powerLoss: Part = {
  name: 'power-loss',
  async run({ short }: Options) {
    if (!hasStrace()) return [notRun(PROMISE, 'not run: strace missing')];
    const folder = await temporaryFolder();
    try {
      const trace = join(folder, 'trace');
      const requests = short ? REQUESTS.short : REQUESTS.long;
      await write(`sqlite:${join(folder, 'torture.db')}`, trace, requests);
      const { answers, syncs, faults } = followed(await readFile(trace, 'latin1'));
      if (answers !== requests) faults.push(`${answers} answers were seen of ${requests}`);
      const measured = `${answers} answers, each after its sync; ${syncs} syncs of the log, ${CONNECTIONS} clients at once`;
      return [finding({ promise: PROMISE, measured, figures: { answers, syncs }, faults })];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

async function write(databaseUrl: string, trace: string, requests: number): Promise<void> {
  const calls = 'trace=pwrite64,fsync,fdatasync,write,writev,sendto,sendmsg';
  const wrapper = ['strace', '-f', '-y', '-xx', '-s', String(SHOWN), '-e', calls, '-e', 'signal=none', '-o', trace];
  const service = await startService({ databaseUrl, wrapper });
  try {
    let next = 0;
    const client = async () => {
      const connection = new Connection(service.url, ADMIN);
      for (next += 1; next <= requests; next += 1) {
        const id = `power-${String(next).padStart(6, '0')}`;
        await connection.ok('POST', '/v1/service-accounts', { body: { id, name: id, tenantId: 'power' } });
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
  } finally {
    // strace keeps signals to itself, and ends once the service has.
    for (const pid of await childrenOf(service.process.pid ?? 0)) process.kill(pid, 'SIGTERM');
    await service.ended;
  }
}

/** Plays the calls: what would be left of the log if the power went, at each moment that an answer leaves. */
export function followed(text: string): { answers: number; syncs: number; faults: string[] } {
  const faults: string[] = [];
  const log = new Log();
  let answers = 0;
  for (const call of systemCalls(text)) {
    if (call.file.endsWith('-wal')) log.take(call);
    else if (call.file.startsWith('socket:') && call.bytes.includes('HTTP/1.1 200')) {
      for (const id of idsIn(call.bytes)) {
        answers += 1;
        if (!log.durable.has(id)) faults.push(`${id} was answered before it was synced`);
      }
    }
  }
  return { answers, syncs: log.syncs, faults };
}

/** SQLite's write-ahead log (fileformat2, section 4): a head of 24 bytes before each page; in a commit's last one a size. */
const FRAME_HEAD = 24;
const SIZE_AFTER_COMMIT = 4;

class Log {
  readonly durable = new Set<string>();
  syncs = 0;
  /** In frames of a transaction whose commit was not written yet, and of those whose commit was. */
  #written: string[] = [];
  #committed: string[] = [];
  #commits = false;

  take({ name, bytes }: SystemCall): void {
    if (name === 'fdatasync' || name === 'fsync') {
      this.syncs += 1;
      for (const id of this.#committed) this.durable.add(id);
      this.#committed = [];
    } else if (bytes.length === FRAME_HEAD) {
      this.#commits = bytes.readUInt32BE(SIZE_AFTER_COMMIT) > 0;
    } else {
      this.#written.push(...idsIn(bytes));
      if (!this.#commits) return;
      this.#committed.push(...this.#written);
      this.#written = [];
      this.#commits = false;
    }
  }
}

function idsIn(bytes: Buffer): string[] {
  return [...new Set(bytes.toString('latin1').match(/power-\d{6}/g))];
}
