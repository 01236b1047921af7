import { killLoops } from './kill/loops.ts';
import type { Part } from './part.ts';
import { openPostgresStore, openSqliteStore } from './stores.ts';

/** Every part of the suite, in the order in which they run. */
export const PARTS: readonly Part[] = [
  killLoops('kill-sqlite', openSqliteStore),
  killLoops('kill-postgres', openPostgresStore),
];
