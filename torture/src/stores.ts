import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDatabase from 'better-sqlite3';

/** A database for one part of the suite. */
export type Store = {
  name: string;
  /** As DATABASE_URL has it. */
  url: string;
  /** What the database itself finds wrong with what it holds. */
  integrityFaults: () => Promise<string[]>;
  /** Removes it. */
  close: () => Promise<void>;
};

/** A folder of its own for one part of the suite. */
export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'quartermaster-torture-'));
}

/** A new SQLite file. */
export async function openSqliteStore(): Promise<Store> {
  const folder = await temporaryFolder();
  const file = join(folder, 'torture.db');
  return {
    name: 'SQLite',
    url: `sqlite:${file}`,
    integrityFaults: async () => sqliteFaults(file),
    close: () => rm(folder, { recursive: true }),
  };
}

/** What SQLite finds wrong with a file: its pages and indexes, and rows that point nowhere. */
export function sqliteFaults(file: string): string[] {
  const db = new SqliteDatabase(file, { readonly: true });
  try {
    const integrity = db.pragma('integrity_check') as { integrity_check: string }[];
    const keys = db.pragma('foreign_key_check') as object[];
    return [
      ...integrity.flatMap(({ integrity_check }) => (integrity_check === 'ok' ? [] : [integrity_check])),
      ...keys.map((row) => `a foreign key points nowhere: ${JSON.stringify(row)}`),
    ];
  } finally {
    db.close();
  }
}
