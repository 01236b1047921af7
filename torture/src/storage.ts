import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDatabase from 'better-sqlite3';
import { createAccounts, Load, listProviders, percentile, type Sent } from './load.ts';
import { type Finding, finding, notRun, type Options, type Part } from './part.ts';
import { hasStrace } from './power-loss/strace.ts';
import { type Service, startService, stopService } from './service.ts';
import { sqliteFaults, temporaryFolder } from './stores.ts';
import { until } from './until.ts';

/** A temporary fault of the storage. */
type Trouble = { begin: () => Promise<void>; end: () => Promise<void> };

type Setting = { promise: string; file: string; wrapper?: readonly string[]; troubleOf: (service: Service) => Trouble };

/** How long a lock is held, in milliseconds. The other faults last a tenth of it. */
const LASTS_MS = { long: 30_000, short: 2_000 };

/** Writes have to succeed again within this time after the fault, in milliseconds. */
const RECOVERY_MS = 5000;

/** Size of the small disk in MiB. */
const DISK_MIB = 16;

export const storage: Part = {
  name: 'storage',
  async run(options: Options): Promise<Finding[]> {
    const lastsMs = options.short ? LASTS_MS.short : LASTS_MS.long;
    return [await fullDisk(lastsMs / 10), await lockedDatabase(lastsMs), await readOnlyFile(lastsMs / 10)];
  },
};

/** A small disk if one may be mounted, else a limit on the size of the process's files. */
async function fullDisk(lastsMs: number): Promise<Finding> {
  const folder = await temporaryFolder();
  const disk = join(folder, 'disk');
  await mkdir(disk);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', disk]).status === 0;
  const filler = join(disk, 'filler');
  const full: Trouble = {
    begin: async () => fill(filler),
    end: async () => rmSync(filler),
  };
  try {
    return await endure(lastsMs, {
      promise: `disk full (${mounted ? 'tmpfs' : 'limit of file sizes'}): writes 503, reads 200, recovery without restart`,
      file: join(disk, 'torture.db'),
      // A soft limit, so that it can be raised again. SIGXFSZ is ignored, so that writes fail with an error instead.
      wrapper: mounted ? [] : ['sh', '-c', `trap '' XFSZ; ulimit -S -f ${DISK_MIB * 128}; exec "$@"`, 'sh'],
      troubleOf: ({ process: { pid } }) =>
        mounted ? full : { begin: async () => {}, end: async () => limitFiles(pid ?? 0, 'unlimited') },
    });
  } finally {
    if (mounted) spawnSync('umount', [disk]);
    await rm(folder, { recursive: true });
  }
}

function limitFiles(pid: number, limit: string): void {
  const { status, stderr } = spawnSync('prlimit', [`--pid=${pid}`, `--fsize=${limit}:`]);
  if (status !== 0) throw new Error(`prlimit: ${stderr?.toString() ?? 'not there'}`);
}

/** Fills the disk. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (let size = 1024 * 1024; size >= 512; ) {
      try {
        writeSync(file, Buffer.alloc(size));
      } catch {
        size /= 2;
      }
    }
  } finally {
    closeSync(file);
  }
}

async function lockedDatabase(lastsMs: number): Promise<Finding> {
  const folder = await temporaryFolder();
  const file = join(folder, 'torture.db');
  let other: SqliteDatabase.Database | undefined;
  const trouble: Trouble = {
    async begin() {
      other = new SqliteDatabase(file, { timeout: 10_000 });
      other.exec('begin immediate');
    },
    end: async () => void other?.close(),
  };
  try {
    const promise = `locked by another process for ${lastsMs / 1000} s: writes 503, reads 200, recovery without restart`;
    return await endure(lastsMs, { promise, file, troubleOf: () => trouble });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Every write to the files of the database fails, as on a file system that was remounted read-only. */
async function readOnlyFile(lastsMs: number): Promise<Finding> {
  const promise = 'read-only file (EROFS by strace): writes 503, reads 200, recovery without restart';
  if (!hasStrace()) return notRun(promise, 'not run: strace missing');
  const folder = await temporaryFolder();
  const troubleOf = (service: Service): Trouble => {
    const args = ['-f', '-p', String(service.process.pid), '-e', 'trace=pwrite64', '-e', 'inject=pwrite64:error=EROFS'];
    let injector: ReturnType<typeof spawn> | undefined;
    let ended: Promise<void> | undefined;
    return {
      async begin() {
        const child = spawn('strace', [...args, '-o', '/dev/null'], { stdio: ['ignore', 'ignore', 'pipe'] });
        injector = child;
        ended = new Promise((resolve) => child.on('close', () => resolve()));
        await new Promise<void>((resolve) => child.stderr.once('data', () => resolve()));
      },
      async end() {
        injector?.kill('SIGINT');
        await ended;
      },
    };
  };
  try {
    return await endure(lastsMs, { promise, file: join(folder, 'torture.db'), troubleOf });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function endure(lastsMs: number, { promise, file, wrapper = [], troubleOf }: Setting): Promise<Finding> {
  const service = await startService({ databaseUrl: `sqlite:${file}`, wrapper });
  const load = new Load();
  const faults: string[] = [];
  try {
    load.add(service.url, createAccounts('first'), 10);
    load.add(service.url, createAccounts('second'), 10);
    load.add(service.url, listProviders, 10);
    load.add(service.url, listProviders, 10);
    await until(() => load.sent.length > 40, 'the load to be under way');
    const trouble = troubleOf(service);
    await trouble.begin();
    const isRefused = ({ name, status }: Sent) => name !== 'read' && status === 503;
    await until(() => load.sent.some(isRefused), 'a write to be refused', 60_000);
    await sleep(lastsMs);
    await trouble.end();
    const ended = load.now();
    const recoveryMs = await until(
      () => load.since(ended).some(({ name, status }) => name !== 'read' && status === 200),
      'a write to succeed again',
    );
    await load.stop();
    if (recoveryMs > RECOVERY_MS) faults.push(`writes succeeded again after ${Math.round(recoveryMs)} ms`);
    faults.push(...answerFaults(load.sent), ...lostWrites(file, load.sent), ...sqliteFaults(file));
    const code = await stopService(service);
    if (code !== 0) faults.push(`the process ended with ${code}: ${service.output().slice(-500)}`);
    const reads = load.sent.filter(({ name }) => name === 'read');
    const refused = load.sent.filter(isRefused);
    const figures = {
      refused: refused.length,
      reads: reads.length,
      readP99Ms: Math.round(
        percentile(
          reads.map(({ tookMs }) => tookMs),
          0.99,
        ),
      ),
      slowestRefusalMs: Math.round(Math.max(...refused.map(({ tookMs }) => tookMs))),
      recoveryMs: Math.round(recoveryMs),
    };
    const measured = `${figures.refused} writes refused, after ${figures.slowestRefusalMs} ms at most; ${figures.reads} reads, p99 ${figures.readP99Ms} ms; writes again after ${figures.recoveryMs} ms`;
    return finding({ promise, measured, figures, faults });
  } finally {
    await load.stop();
    service.process.kill('SIGKILL');
    await service.ended;
  }
}

function answerFaults(sent: readonly Sent[]): string[] {
  return sent.flatMap(({ name, status, code, retryAfter }) => {
    if (status === 200) return [];
    if (name === 'read') return [`a read was answered ${status ?? code}`];
    if (status !== 503) return [`${name} was answered ${status ?? code}`];
    return retryAfter ? [] : [`${name} was refused without Retry-After`];
  });
}

/** Checks that acknowledged writes are stored, and refused ones are not. */
function lostWrites(file: string, sent: readonly Sent[]): string[] {
  const db = new SqliteDatabase(file, { readonly: true });
  try {
    const ids = new Set(db.prepare(`select id from service_accounts where tenant_id = 'load'`).pluck().all());
    return sent.flatMap(({ name, status }) => {
      const id = name.replace('write ', '');
      if (name === 'read' || ids.has(id) === (status === 200)) return [];
      return [`${id} was answered ${status}, and is ${ids.has(id) ? '' : 'not '}there`];
    });
  } finally {
    db.close();
  }
}
