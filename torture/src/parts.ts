import { audit } from './audit.ts';
import { backup } from './backup/backup.ts';
import { fuzz } from './fuzz.ts';
import { idempotency } from './idempotency.ts';
import { killLoops } from './kill/loops.ts';
import type { Part } from './part.ts';
import { powerLoss } from './power-loss/power-loss.ts';
import { rateLimits } from './rate-limits.ts';
import { shutdown } from './shutdown.ts';
import { sockets } from './sockets/sockets.ts';
import { storage } from './storage.ts';
import { openPostgresStore, openSqliteStore } from './stores.ts';
import { tenants } from './tenants/tenants.ts';

/** Every part of the suite, in the order in which they run. */
export const PARTS: readonly Part[] = [
  killLoops('kill-sqlite', openSqliteStore),
  killLoops('kill-postgres', openPostgresStore),
  audit,
  idempotency,
  rateLimits,
  powerLoss,
  storage,
  backup,
  shutdown,
  sockets,
  tenants,
  fuzz,
];
