import { administer } from '@quartermaster/db/testing/postgres-server.ts';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { serverOfTest } from '../support/server.ts';
import { chat, sendSpans } from '../telemetry/traces/sending.ts';

test('spans that are inserted while the partition of their day is attached are stored in it', async () => {
  const server = await serverOfTest({}, { noHousekeeping: true });
  // No partition exists for a day so far ahead.
  server.travel(400 * 24 * 60 * 60 * 1000);
  const [day, next] = [400, 401].map((days) =>
    new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString().slice(0, 10),
  );
  const other = new Client({ connectionString: server.databaseUrl });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query('begin');
  // Like housekeeping. The insert has already chosen the default partition, and waits for its lock.
  await other.query('create table late (like span_blocks including all)');
  await other.query(`alter table span_blocks attach partition late for values from ('${day}') to ('${next}')`);
  const sent = sendSpans(server, server.admin, [chat('gpt-5')]);
  // On another connection, because inside the transaction the result would not change.
  const waiting = `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await expect
    .poll(async () => (await administer(server.databaseUrl, waiting))[0]?.['count'], { interval: 20 })
    .toBeGreaterThan(0);
  await other.query('commit');
  await sent;
  expect((await other.query('select count(*)::int as count from late')).rows).toEqual([{ count: 1 }]);
});
