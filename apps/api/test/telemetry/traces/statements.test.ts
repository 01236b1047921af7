import { SqliteHandle } from '@quartermaster/db/dialects/sqlite-handle.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { newTenant } from '../../governance/loop-support.ts';
import { startTestServer } from '../../support/server.ts';
import { chat, newTraceId, sendSpans, toolRun } from './sending.ts';

/** With `begin` and `commit`. More would make small batches of spans slower. */
const MAX_STATEMENTS = 23;

test(`the transaction of ten spans with known names takes at most ${MAX_STATEMENTS} statements`, async () => {
  // Only the request uses the database meanwhile.
  const server = await startTestServer({}, { noHousekeeping: true });
  onTestFinished(() => server.stop());
  const { sender } = await newTenant(server);
  const send = () => {
    const models = ['gpt-5', 'gpt-5-mini', 'o4'].map((name) => chat(name, { 'gen_ai.provider.name': 'openai' }));
    const tools = ['search', 'refund', 'lookup', 'mail', 'sum', 'plan', 'read'].map((name) => toolRun(name));
    const traceId = newTraceId();
    return sendSpans(
      server,
      sender,
      [...models, ...tools].map((span) => ({ ...span, traceId })),
    );
  };
  await send();
  await send();
  const run = vi.spyOn(SqliteHandle.prototype, 'run');
  onTestFinished(() => run.mockRestore());
  await send();
  const all = run.mock.calls.map(([sql]) => sql);
  const statements = all.slice(all.indexOf('begin immediate'), all.lastIndexOf('commit') + 1);
  expect(statements.length).toBeGreaterThan(2);
  expect(statements.length, statements.join('\n')).toBeLessThanOrEqual(MAX_STATEMENTS);
});
