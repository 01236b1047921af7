import { isSync, type Moment } from './strace.ts';

/** What would be left of a database's log after a power loss, at each moment. */
export type DatabaseLog = {
  take(moment: Moment): void;
  /** The ids of the writes that would survive. */
  readonly durable: ReadonlySet<string>;
  /** How often the log was synced. */
  readonly syncs: number;
};

/** The id of an account that a run creates. No other text looks like it. */
export function idOf(number: number): string {
  return `power-${String(number).padStart(6, '0')}`;
}

export function idsIn(bytes: Buffer): string[] {
  return [...new Set(bytes.toString('latin1').match(/power-\d{6}/g))];
}

/** SQLite's write-ahead log (fileformat2, section 4): each page has a header of 24 bytes. The last of a commit has a size. */
const FRAME_HEAD = 24;
const SIZE_AFTER_COMMIT = 4;

export class SqliteLog implements DatabaseLog {
  readonly durable = new Set<string>();
  syncs = 0;
  /** Ids in frames without a written commit, in frames with a written commit, and in frames that are being synced. */
  #written: string[] = [];
  #committed: string[] = [];
  #syncing: string[] = [];
  #commits = false;

  take(moment: Moment): void {
    if (!moment.file.endsWith('-wal')) return;
    if (isSync(moment)) this.#sync(moment);
    else if (moment.at === 'end') this.#write(moment.bytes);
  }

  /** A running sync need not cover what is written after its start. */
  #sync({ at }: Moment): void {
    if (at === 'begin') {
      this.#syncing = this.#committed;
      this.#committed = [];
      return;
    }
    this.syncs += 1;
    for (const id of this.#syncing) this.durable.add(id);
  }

  #write(bytes: Buffer): void {
    if (bytes.length === FRAME_HEAD) {
      this.#commits = bytes.readUInt32BE(SIZE_AFTER_COMMIT) > 0;
      return;
    }
    this.#written.push(...idsIn(bytes));
    if (!this.#commits) return;
    this.#committed.push(...this.#written);
    this.#written = [];
    this.#commits = false;
  }
}

/**
 * PostgreSQL's log, judged by the messages of its backends. The record of a commit is written after the client requested the
 * commit. So it is on the disk once any process has completed a sync of the log that began after that.
 */
export class PostgresLog implements DatabaseLog {
  readonly durable = new Set<string>();
  syncs = 0;
  #moments = 0;
  /** When the running syncs began, by process; and the latest start of a sync that has ended. */
  readonly #began = new Map<string, number>();
  #synced = 0;
  readonly #backends = new Map<string, { ids: string[]; askedAt: number | null }>();

  take(moment: Moment): void {
    this.#moments += 1;
    const { pid, name, file, bytes, at } = moment;
    if (isSync(moment)) {
      if (file.includes('/pg_wal/')) this.#sync(moment);
    } else if (name === 'recvfrom' && at === 'end') this.#asked(pid, bytes);
    else if (name === 'sendto' && at === 'begin' && bytes.includes('COMMIT\0')) this.#answered(pid);
  }

  #sync({ pid, at }: Moment): void {
    if (at === 'begin') {
      this.#began.set(pid, this.#moments);
      return;
    }
    this.syncs += 1;
    this.#synced = Math.max(this.#synced, this.#began.get(pid) ?? 0);
  }

  #asked(pid: string, bytes: Buffer): void {
    // A new request replaces the previous one of this backend.
    if (bytes.includes('begin isolation level')) this.#backends.set(pid, { ids: [], askedAt: null });
    const backend = this.#backends.get(pid);
    backend?.ids.push(...idsIn(bytes));
    if (backend && bytes.includes('commit\0')) backend.askedAt = this.#moments;
  }

  #answered(pid: string): void {
    const backend = this.#backends.get(pid);
    if (backend?.askedAt == null || this.#synced < backend.askedAt) return;
    for (const id of backend.ids) this.durable.add(id);
  }
}
