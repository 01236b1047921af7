import { SqliteHandle } from '@quartermaster/db/dialects/sqlite-handle.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { newTenant } from '../../governance/loop-support.ts';
import { startTestServer } from '../../support/server.ts';
import { chat, newTraceId, sendSpans, toolRun } from './sending.ts';

/** As the database counts them, with `begin` and `commit`. More would make small batches of spans slower. */
const MAX_STATEMENTS = 24;

test(`a request with ten spans of known names takes at most ${MAX_STATEMENTS} statements`, async () => {
  const server = await startTestServer();
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
  const statements = run.mock.calls.map(([sql]) => sql);
  expect(statements).toContain('commit');
  expect(statements.length, statements.join('\n')).toBeLessThanOrEqual(MAX_STATEMENTS);
});
