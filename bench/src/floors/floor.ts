import { randomUUID } from 'node:crypto';
import SqliteDatabase from 'better-sqlite3';
import { createSessionFloor } from './gateway-sessions.ts';
import { listProvidersFloor } from './providers.ts';
import { createAccountFloor } from './service-accounts.ts';
import { ingestFloor, spansFloor } from './spans.ts';

/** The settings of a floor: a server that does the work of one operation in handwritten code, as a lower bound of its cost. */
export type FloorSettings = {
  work: keyof typeof FLOORS;
  /** A copy of the database file that this API uses. */
  database: string;
  method: string;
  path: string;
  /** The headers of this API's response, as pairs. The request id and the length are set for each response. */
  headers: readonly (readonly [string, string])[];
  publicUrl: string;
  /** The key of the cursors' HMAC. */
  cursorKey: Uint8Array;
};

/**
 * Answers a request: a value to be written as JSON, or bytes to be sent unchanged; null if the key is refused.
 *
 * @param key the X-API-Key header
 */
export type Work = (request: { key: string; body: Buffer; path: string }) => unknown;

/** Hand-written means prepared statements, plain objects, and no validation beyond what the work needs. */
const FLOORS = {
  list: listProvidersFloor,
  create: createAccountFloor,
  session: createSessionFloor,
  ingest: ingestFloor,
  spans: spansFloor,
} satisfies Record<string, (db: SqliteDatabase.Database, settings: FloorSettings) => Work>;

/** Opens the file with the same journal mode as this API, so that every commit is on the disk before its response. */
export function workOf(settings: FloorSettings): Work {
  const db = new SqliteDatabase(settings.database, { fileMustExist: true });
  db.pragma('journal_mode = wal');
  db.pragma('synchronous = full');
  db.pragma('foreign_keys = on');
  return FLOORS[settings.work](db, settings);
}

/** The response's headers with a new request id. */
export function headersOf(settings: Pick<FloorSettings, 'headers'>): (length: number) => string[] {
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

/** The settings that the parent process sends at the start. */
export function settingsFromParent<Settings = FloorSettings>(): Promise<Settings> {
  process.once('disconnect', () => process.exit(0));
  return new Promise((resolve) => {
    process.once('message', resolve);
  });
}
