import { withMutex } from '@quartermaster/db/mutex.ts';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { expectProblem } from '../endpoints/harness.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import { at, eventsOf, expectFaults, run, sealedTenant, tamper, verified, VERIFY } from './tampering.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

test('verification in several pages reports the same faults as one call, and the last page has the result', async () => {
  const { tenantId, key } = await sealedTenant(server, 9);
  const rows = await eventsOf(server.services.db, tenantId);
  await tamper(server, async (db) => {
    await run(db, `update audit_events set reason = 'x' where id = ?`, at(rows, 2).id);
    await run(db, 'delete from audit_events where id = ?', at(rows, 9).id);
    await db
      .insertInto('audit_events')
      .values({ ...at(rows, 1), id: 'aud_zzzzzzzzzzzzzzzzzzzzzzzzzz' })
      .execute();
  });
  const whole = await verified(server, key);
  expectFaults(whole, 'changed@2', 'removed@9', 'forged@');
  for (const limit of ['1', '2', '3', '7']) {
    const faults: Body[] = [];
    let answer = await verified(server, key, { limit });
    for (; ; answer = await verified(server, key, { limit, cursor: answer.nextCursor })) {
      faults.push(...answer.faults);
      expect(answer.status).toBe(faults.length === 0 ? 'intact' : 'broken');
      if (answer.nextCursor === null) break;
    }
    expect(faults).toEqual(whole.faults);
    expect({ ...answer, faults }).toEqual(whole);
  }
});

test('regression: verifications of a tenant run one at a time, and one that waits too long answers 503', async () => {
  const [{ tenantId, key }, other] = [await sealedTenant(server), await sealedTenant(server)];
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = withMutex(server.services.db, `verify ${tenantId}`, () => promise);
  // The mutex is waited for in vain: 100 ms instead of its 5 s, which its own tests know.
  const { setTimeout: after } = globalThis;
  const timers = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((then, milliseconds) => after(then, milliseconds === 5000 ? 100 : milliseconds));
  onTestFinished(() => timers.mockRestore());
  const refused = await server.call('GET', VERIFY, { as: { key } });
  timers.mockRestore();
  expectProblem(refused, 503, 'database_unavailable');
  expect(refused.headers.get('retry-after')).toBe('1');
  expectFaults(await verified(server, other.key));
  resolve();
  await held;
  for (const answer of await Promise.all(Array.from({ length: 10 }, () => verified(server, key)))) expectFaults(answer);
});
