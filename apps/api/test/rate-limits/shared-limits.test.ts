import pino from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { removePastWindows, SHARED_LIMITS_WAIT_MS } from '../../src/http/rate-limits/shared-points.ts';
import { startServer } from '../../src/server/start.ts';
import { lockTable } from '../support/locked-table.ts';
import { startTestServer } from '../support/server.ts';
import { limited, list, ON, repeated, times, wrongKey } from './limited.ts';

const SECRET_KEY = Buffer.alloc(32, 's').toString('base64');

test('two processes on one database share the limits; the counters are removed, and do not name callers', async () => {
  // On a busy machine the database may take longer than a request waits for it.
  const shared = { sharedLimits: true, sharedLimitsWaitMs: 10_000 };
  const one = await limited(
    { QM_RATE_LIMIT_PRINCIPAL: '40', QM_RATE_LIMIT_ADDRESS: '20', QM_SECRET_KEY: SECRET_KEY },
    shared,
  );
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: one.databaseUrl,
    QM_METRICS_PORT: 'off',
    QM_OTLP_GRPC_PORT: 'off',
    QM_CONSOLE: 'off',
    QM_SECRET_KEY: SECRET_KEY,
    ...ON,
    QM_RATE_LIMIT_PRINCIPAL: '40',
    QM_RATE_LIMIT_ADDRESS: '20',
    QM_LOG_LEVEL: 'silent',
    QM_SHUTDOWN_DELAY_MS: '0',
  });
  const other = await startServer(config, { now: one.services.now, ...shared });
  onTestFinished(() => other.stop());
  const ask = async (url: string, as: { key: string }) => {
    const { status } = await fetch(`${url}/v1/providers`, { headers: { 'x-api-key': as.key } });
    return status;
  };
  const both = async (count: number, as: { key: string }) => {
    const statuses: number[] = [];
    for (let turn = 0; turn < count; turn += 1)
      statuses.push(...(await Promise.all([ask(one.url, as), ask(other.url, as)])));
    return statuses;
  };
  const good = await both(30, one.admin);
  expect(good.filter((status) => status === 200)).toHaveLength(40);
  expect(good.filter((status) => status === 429)).toHaveLength(20);
  const bad = await both(15, wrongKey());
  expect(bad.filter((status) => status === 401)).toHaveLength(20);
  expect(bad.filter((status) => status === 429)).toHaveLength(10);

  const rows = await one.services.db.selectFrom('rate_limit_windows').selectAll().execute();
  expect(rows).toHaveLength(3);
  for (const text of ['bootstrap', '127.0.0.1', '::1']) expect(JSON.stringify(rows)).not.toContain(text);
  expect(await removePastWindows(one.services)).toBe(0);
  one.travel(4 * 60_000);
  expect(await removePastWindows(one.services)).toBe(3);
});

test('while the database is unreachable each process applies the limits alone, and no request waits', async () => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const server = await startTestServer(
    { ...ON, QM_RATE_LIMIT_ADDRESS: '5' },
    { sharedLimits: true, sharedLimitsWaitMs: SHARED_LIMITS_WAIT_MS, log },
  );
  server.freeze();
  const release = await lockTable(server.databaseUrl, 'rate_limit_windows');
  expect(await times(7, () => list(server, null))).toEqual(repeated([5, 401], [2, 429]));
  await release();
  // The first request waited for as long as it may, the others not at all.
  const alone = lines.filter((line) => line.includes('counted by this process alone'));
  expect(alone).toEqual([expect.stringContaining(`the database did not answer within ${SHARED_LIMITS_WAIT_MS} ms`)]);
  await server.stop();
});
