import { randomUUID } from 'node:crypto';
import SqliteDatabase from 'better-sqlite3';
import { createSessionFloor } from './gateway-sessions.ts';
import { listProvidersFloor } from './providers.ts';
import { createAccountFloor } from './service-accounts.ts';
import { ingestFloor, spansFloor } from './spans.ts';

/** What a floor answers with: one operation's work, done by hand. */
export type FloorSettings = {
  work: keyof typeof FLOORS;
  /** A copy of the same file that this API works on. */
  database: string;
  method: string;
  path: string;
  /** The headers of this API's answer, as it sends them: pairs, the request id and the length to be set each time. */
  headers: readonly (readonly [string, string])[];
  publicUrl: string;
  /** What proves cursors. */
  cursorKey: Uint8Array;
};

/**
 * The answer to a request: what becomes JSON, or bytes as they stand; null where the key is refused.
 *
 * @param key the X-API-Key header
 */
export type Work = (request: { key: string; body: Buffer; path: string }) => unknown;

/** By hand means: prepared statements, plain objects, no validation beyond what the work itself needs. */
const FLOORS = {
  list: listProvidersFloor,
  create: createAccountFloor,
  session: createSessionFloor,
  ingest: ingestFloor,
  spans: spansFloor,
} satisfies Record<string, (db: SqliteDatabase.Database, settings: FloorSettings) => Work>;

/** Opens the file as this API does: the same journal, and every commit on the disk before its answer. */
export function workOf(settings: FloorSettings): Work {
  const db = new SqliteDatabase(settings.database, { fileMustExist: true });
  db.pragma('journal_mode = wal');
  db.pragma('synchronous = full');
  db.pragma('foreign_keys = on');
  return FLOORS[settings.work](db, settings);
}

/** The answer's headers with a request id of its own. */
export function headersOf(settings: FloorSettings): (length: number) => string[] {
  const flat = settings.headers.flat();
  const valueAt = (name: string) => flat.findIndex((text, at) => at % 2 === 0 && text.toLowerCase() === name) + 1;
  const [idAt, lengthAt] = [valueAt('x-request-id'), valueAt('content-length')];
  return (length) => {
    const headers = flat.slice();
    headers[idAt] = randomUUID();
    headers[lengthAt] = String(length);
    return headers;
  };
}

/** What the parent says at the start. */
export function settingsFromParent(): Promise<FloorSettings> {
  process.once('disconnect', () => process.exit(0));
  return new Promise((resolve) => {
    process.once('message', resolve);
  });
}
