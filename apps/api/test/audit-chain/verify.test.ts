import { withMutex } from '@quartermaster/db/mutex.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { expectInvalid, expectProblem } from '../endpoints/harness.ts';
import { accountWithKey, joinPlace, memberWithToken, registeredUser } from '../support/people.ts';
import { type Body, startTestServer, type TestServer } from '../support/server.ts';
import {
  at,
  eventAt,
  eventsOf,
  expectFaults,
  linksOf,
  recompute,
  removeTail,
  run,
  sealedTenant,
  swapEvents,
  swapLinks,
  tamper,
  verified,
  VERIFY,
  writeOne,
} from './tampering.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const DAY_MS = 24 * 3600 * 1000;

/** A server on the same database that remembers nothing: it was started after what was done, and seals nothing. */
async function newcomer(): Promise<TestServer> {
  const other = await startTestServer({ DATABASE_URL: server.databaseUrl }, { noHousekeeping: true });
  onTestFinished(() => other.stop());
  return other;
}

test('verify_audit_events answers 200 for an untouched chain: intact, with its size and its signed head', async () => {
  const { tenantId, key } = await sealedTenant(server);
  const { items } = await server.ok('GET', '/v1/audit-events?limit=100', { as: { key } });
  expect(await verified(server, key)).toEqual({
    tenantId,
    status: 'intact',
    size: items.length,
    checked: items.length,
    unsealed: 0,
    head: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    sealedAt: expect.stringMatching(/Z$/),
    unverifiableHeads: 0,
    faults: [],
    nextCursor: null,
  });
});

test('the chain has the events in the order in which they are listed', async () => {
  const { tenantId } = await sealedTenant(server);
  const listed = await server.ok('GET', `/v1/audit-events?limit=100&tenant_id=${tenantId}`, { as: server.admin });
  const links = await linksOf(server.services.db, tenantId);
  expect(links.map(({ event_id }) => event_id)).toEqual(listed.items.map(({ id }: Body) => id).toReversed());
});

describe('what is done to the database is found, and named', () => {
  test('a changed row', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { id } = await eventAt(server.services.db, tenantId, 3);
    await tamper(server, (db) => run(db, `update audit_events set actor_id = 'somebody-else' where id = ?`, id));
    const answer = await verified(server, key);
    expectFaults(answer, 'changed@3');
    expect(answer.faults[0].eventId).toBe(id);
  });

  test('a row that is no event any more', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { id } = await eventAt(server.services.db, tenantId, 1);
    await tamper(server, (db) => run(db, `update audit_events set changed_fields = '[' where id = ?`, id));
    expectFaults(await verified(server, key), 'changed@1');
  });

  test('a removed row, with its link and without it', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const rows = await eventsOf(server.services.db, tenantId);
    await tamper(server, async (db) => {
      for (const position of [2, 4]) await run(db, 'delete from audit_events where id = ?', at(rows, position).id);
      await run(db, 'delete from audit_chain where tenant_id = ? and position = 4', tenantId);
    });
    const answer = await verified(server, key);
    expectFaults(answer, 'removed@2', 'removed@4');
    expect(answer.faults.map(({ eventId }: Body) => eventId)).toEqual([at(rows, 2).id, null]);
  });

  test('a removed link, and the event that is unknown without it', async () => {
    const { tenantId, key } = await sealedTenant(server);
    await tamper(server, (db) => run(db, 'delete from audit_chain where tenant_id = ? and position = 4', tenantId));
    expectFaults(await verified(server, key), 'removed@4', 'inserted@');
  });

  test('a removed tail, by the newest head', async () => {
    const { tenantId, key } = await sealedTenant(server);
    await tamper(server, (db) => removeTail(db, tenantId, 5));
    expectFaults(await verified(server, key), 'tail_removed@5');
  });

  test('a removed tail whose heads were removed too, by what remembers it: a head kept elsewhere, or the server', async () => {
    const { tenantId, key } = await sealedTenant(server, 3);
    const { head: early, size } = await verified(server, key);
    // The head of a day is kept when the next day's first one comes.
    server.travel(DAY_MS);
    for (let count = 0; count < 2; count += 1) {
      await writeOne(server, key);
      await server.services.sealer.pass();
    }
    const { head: kept } = await verified(server, key);
    await tamper(server, async (db) => {
      await removeTail(db, tenantId, size + 1);
      await run(db, 'delete from audit_heads where tenant_id = ? and size > ?', tenantId, size);
    });
    for (const query of [{}, { head: early }, { head: kept }]) {
      expectFaults(await verified(server, key, query), `tail_removed@${size + 1}`);
    }
    const other = await newcomer();
    expectFaults(await verified(other, key));
    expectFaults(await verified(other, key, { head: early }));
    expectFaults(await verified(other, key, { head: kept }), `tail_removed@${size + 1}`);
  });

  test('everything removed, by what remembers it: a head kept elsewhere, or the server', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { head } = await verified(server, key);
    await tamper(server, async (db) => {
      for (const table of ['audit_events', 'audit_chain', 'audit_heads']) {
        await run(db, `delete from ${table} where tenant_id = ?`, tenantId);
      }
    });
    for (const query of [{}, { head }]) expectFaults(await verified(server, key, query), 'tail_removed@1');
    const other = await newcomer();
    expect(await verified(other, key)).toMatchObject({ status: 'intact', size: 0, head: null, sealedAt: null });
    expectFaults(await verified(other, key, { head }), 'tail_removed@1');
  });

  const PAIRS = [
    [2, 3],
    [1, 5],
  ] as const;

  test.each(PAIRS)('two rows swapped, at %i and %i', async (first, second) => {
    const { tenantId, key } = await sealedTenant(server);
    const rows = await eventsOf(server.services.db, tenantId);
    await tamper(server, (db) => swapEvents(db, [at(rows, first), at(rows, second)]));
    expectFaults(await verified(server, key), `swapped@${first}`, `swapped@${second}`);
  });

  test.each(PAIRS)('two links swapped, at %i and %i, with their hashes and without them', async (first, second) => {
    for (const hashes of [true, false]) {
      const { tenantId, key } = await sealedTenant(server);
      const rows = await linksOf(server.services.db, tenantId);
      await tamper(server, (db) => swapLinks(db, [at(rows, first), at(rows, second)], hashes));
      expectFaults(await verified(server, key), `swapped@${first}`, `swapped@${second}`);
    }
  });

  test('a row inserted behind the back of the service', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const row = await eventAt(server.services.db, tenantId, 1);
    const id = `${row.id.slice(0, -4)}zzzz`;
    await tamper(server, (db) =>
      db
        .insertInto('audit_events')
        .values({ ...row, id })
        .execute(),
    );
    const answer = await verified(server, key);
    expectFaults(answer, 'forged@');
    expect(answer.faults[0].eventId).toBe(id);
  });

  test('a row inserted with a link of its own at the end of the chain', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const row = await eventAt(server.services.db, tenantId, 1);
    const { size } = await verified(server, key);
    await tamper(server, async (db) => {
      const id = `${row.id.slice(0, -4)}zzzz`;
      await db
        .insertInto('audit_events')
        .values({ ...row, id })
        .execute();
      const link = at(await linksOf(db, tenantId), size);
      await db
        .insertInto('audit_chain')
        .values({ ...link, position: size + 1, event_id: id })
        .execute();
      await recompute(db, tenantId);
    });
    expectFaults(await verified(server, key), `unsigned@${size + 1}`);
  });

  test.each([0, -7])(
    'regression: a row inserted with a link before the first one, at position %i',
    async (position) => {
      const { tenantId, key } = await sealedTenant(server);
      const row = await eventAt(server.services.db, tenantId, 1);
      const id = `${row.id}z`;
      await tamper(server, async (db) => {
        await db
          .insertInto('audit_events')
          .values({ ...row, id })
          .execute();
        const link = { tenant_id: tenantId, position, event_id: id, leaf: '00', hash: '00' };
        await db.insertInto('audit_chain').values(link).execute();
      });
      const size = (await linksOf(server.services.db, tenantId)).length - 1;
      const answer = await verified(server, key);
      // The link, and the event: it seals nothing.
      expectFaults(answer, 'inserted@', 'forged@');
      expect(answer.faults.map(({ eventId }: Body) => eventId)).toEqual([id, id]);
      expect(answer.checked).toBe(size);
      const one = await verified(server, key, { limit: '1' });
      expect([one.status, one.faults.length, one.checked]).toEqual(['broken', 1, 0]);
      const rest = await verified(server, key, { limit: '1000', cursor: one.nextCursor });
      expect([rest.faults.length, rest.checked, rest.nextCursor]).toEqual([1, size, null]);
    },
  );

  test('regression: a link before the first one that names no event', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const link = { tenant_id: tenantId, position: -1, event_id: 'none', leaf: '00', hash: '00' };
    await tamper(server, (db) => db.insertInto('audit_chain').values(link).execute());
    expectFaults(await verified(server, key), 'inserted@');
  });

  test('regression: a row whose id is empty, in one call and in calls of one row each', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const row = await eventAt(server.services.db, tenantId, 1);
    await tamper(server, (db) =>
      db
        .insertInto('audit_events')
        .values({ ...row, id: '' })
        .execute(),
    );
    expectFaults(await verified(server, key), 'forged@');
    let answer = await verified(server, key, { limit: '1' });
    while (answer.nextCursor !== null) {
      answer = await verified(server, key, { limit: '1', cursor: answer.nextCursor });
    }
    expect(answer.status).toBe('broken');
  });

  test.skipIf(onPostgres())('regression: links and heads at places that SQLite alone takes', async () => {
    for (const [place, ...faults] of [
      [`'x'`, 'inserted@', 'forged@'],
      ['2.5', 'inserted@', 'forged@'],
      [String(2 ** 40), 'inserted@', 'forged@'],
    ] as const) {
      const { tenantId, key } = await sealedTenant(server);
      const changed = await eventAt(server.services.db, tenantId, 3);
      const row = await eventAt(server.services.db, tenantId, 1);
      const id = `${row.id}z`;
      await tamper(server, async (db) => {
        await db
          .insertInto('audit_events')
          .values({ ...row, id })
          .execute();
        await run(db, `insert into audit_chain values (?, ${place}, ?, '00', '00')`, tenantId, id);
      });
      expectFaults(await verified(server, key), ...faults);
      await tamper(server, (db) => run(db, `update audit_events set actor_id = 'other' where id = ?`, changed.id));
      expectFaults(await verified(server, key), ...faults, 'changed@3');
    }
    // A head behind all others does not hide that an end is unsigned.
    const { tenantId, key } = await sealedTenant(server);
    const { size } = await verified(server, key);
    await tamper(server, async (db) => {
      await run(db, `insert into audit_heads values (?, 'x', 'x', 'x', 'x')`, tenantId);
      const link = { tenant_id: tenantId, position: size + 1, event_id: 'more', leaf: '00', hash: '00' };
      await db.insertInto('audit_chain').values(link).execute();
    });
    const { faults } = await verified(server, key);
    expect(faults.map(({ kind }: Body) => kind)).toContain('unsigned');
  });

  test('a chain recomputed whole, by the head that was signed', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { id } = await eventAt(server.services.db, tenantId, 1);
    const { position } = await tamper(server, async (db) => {
      await run(db, `update audit_events set outcome = 'failure' where id = ?`, id);
      return recompute(db, tenantId);
    });
    expectFaults(await verified(server, key), `recomputed@${position}`);
  });

  test('a chain recomputed whole with heads of its own, signed by a key that was put into the database', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { head: kept } = await verified(server, key);
    const { kid } = decodeProtectedHeader(kept);
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const { crv, x, y } = await exportJWK(publicKey);
    // The key that everybody is shown is the forger's from now on.
    const jwk = JSON.stringify({ kid, kty: 'EC', alg: 'ES256', use: 'sig', crv, x, y });
    const { id } = await eventAt(server.services.db, tenantId, 1);
    const { position: size, hash } = await tamper(server, async (db) => {
      await run(db, `update audit_events set outcome = 'failure' where id = ?`, id);
      await run(db, 'update credentials set public_key = ? where id = ?', jwk, kid);
      return recompute(db, tenantId);
    });
    const token = await new SignJWT({ tenant_id: tenantId, size, hash })
      .setProtectedHeader({ alg: 'ES256', typ: 'qm-audit-head+jwt', kid: String(kid) })
      .setIssuer(server.publicUrl)
      .setIssuedAt()
      .sign(privateKey);
    await tamper(server, (db) =>
      run(db, 'update audit_heads set hash = ?, token = ? where tenant_id = ?', hash, token, tenantId),
    );
    for (const query of [{}, { head: kept }]) {
      expectFaults(await verified(server, key, query), `head_forged@${size}`, `recomputed@${size}`);
    }
    const other = await newcomer();
    expectFaults(await verified(other, key), `head_forged@${size}`);
    expectFaults(await verified(other, key, { head: kept }), `head_forged@${size}`, `recomputed@${size}`);
  });

  test('a chain that has no head any more, and a head that is that of another chain', async () => {
    const [one, other, third] = [await sealedTenant(server), await sealedTenant(server), await sealedTenant(server)];
    const { head } = await verified(server, third.key);
    await tamper(server, async (db) => {
      await run(db, 'delete from audit_heads where tenant_id = ?', one.tenantId);
      await run(db, 'update audit_heads set token = ? where tenant_id = ?', head, other.tenantId);
    });
    expectFaults(await verified(server, one.key), 'unsigned@1');
    const { size } = await verified(server, other.key);
    expectFaults(await verified(server, other.key), `head_forged@${size}`);
  });
});

test('the time of the answer is the signed one, not that of the column beside it', async () => {
  const { tenantId, key } = await sealedTenant(server);
  const { head, sealedAt } = await verified(server, key);
  const signed = new Date(Number(decodeJwt(head).iat) * 1000).toISOString();
  expect(sealedAt).toBe(signed);
  await tamper(server, (db) =>
    run(db, `update audit_heads set sealed_at = '2020-01-01T00:00:00.000Z' where tenant_id = ?`, tenantId),
  );
  expect((await verified(server, key)).sealedAt).toBe(signed);
  // What no date can hold is no head.
  const [header = '', , signature = ''] = head.split('.');
  const claims = Buffer.from(JSON.stringify({ ...decodeJwt(head), iat: 2 ** 52 })).toString('base64url');
  const forged = [header, claims, signature].join('.');
  await tamper(server, (db) => run(db, 'update audit_heads set token = ? where tenant_id = ?', forged, tenantId));
  expect(await verified(server, key)).toMatchObject({ status: 'broken', sealedAt: null });
});

test('calls that go on from one another find the same as one call, and the last one has the verdict', async () => {
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

test('an answer holds a bounded number of faults, and the next call goes on', async () => {
  const { tenantId, key } = await sealedTenant(server, 1);
  const row = await eventAt(server.services.db, tenantId, 1);
  await tamper(server, async (db) => {
    for (let start = 0; start < 1500; start += 100) {
      const ids = Array.from({ length: 100 }, (_, index) => `aud_z${String(start + index).padStart(25, '0')}`);
      await db
        .insertInto('audit_events')
        .values(ids.map((id) => ({ ...row, id })))
        .execute();
    }
  });
  let found = 0;
  let calls = 0;
  for (let cursor: string | null = ''; cursor !== null; calls += 1) {
    const answer: Body = await verified(server, key, { limit: '100000', ...(cursor !== '' && { cursor }) });
    expect(answer.faults.length).toBeLessThanOrEqual(2000);
    found += answer.faults.length;
    cursor = answer.nextCursor;
  }
  expect(found).toBe(1500);
  expect(calls).toBeGreaterThan(1);
});

test('regression: verifications of a tenant run one at a time, and one whose turn does not come answers 503', async () => {
  const [{ tenantId, key }, other] = [await sealedTenant(server), await sealedTenant(server)];
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = withMutex(server.services.db, `verify ${tenantId}`, () => promise);
  const refused = await server.call('GET', VERIFY, { as: { key } });
  expectProblem(refused, 503, 'database_unavailable');
  expect(refused.headers.get('retry-after')).toBe('1');
  expectFaults(await verified(server, other.key));
  resolve();
  await held;
  for (const answer of await Promise.all(Array.from({ length: 10 }, () => verified(server, key)))) expectFaults(answer);
});

test('the cursor is for this chain and caller alone', async () => {
  const [one, other] = [await sealedTenant(server), await sealedTenant(server)];
  const { nextCursor: cursor } = await verified(server, one.key, { limit: '1' });
  const fault = { loc: ['query', 'cursor'], type: 'value_error' };
  const ask = (key: string, query: string) => server.call('GET', `${VERIFY}?${query}`, { as: { key } });
  expectInvalid(await ask(other.key, `limit=1&cursor=${cursor}`), fault);
  expectInvalid(await ask(one.key, `limit=1&cursor=${cursor.slice(0, -1)}`), fault);
  expectInvalid(await ask(server.admin.key, `tenant_id=${one.tenantId}&cursor=${cursor}`), fault);
});

test('a head that proves nothing is refused, 422: no head, that of another chain, one that was signed elsewhere', async () => {
  const [one, other] = [await sealedTenant(server), await sealedTenant(server)];
  const { head: foreign } = await verified(server, other.key);
  const { head: own } = await verified(server, one.key);
  const [header, payload] = own.split('.');
  const gateway = await server.ok('POST', '/v1/gateways', { as: { key: one.key }, body: { name: 'heads' } });
  const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: { key: one.key } });
  // Regression: an empty one proved nothing, and was taken for none.
  for (const head of ['', 'none', foreign, `${header}.${payload}.${'A'.repeat(86)}`, `${header}.e30.`, session.token]) {
    const answer = await server.call('GET', `${VERIFY}?head=${head}`, { as: { key: one.key } });
    expectInvalid(answer, { loc: ['query', 'head'], type: 'value_error' });
  }
});

test("a tenant's whole chain is for tenant-wide readers; the platform's own for platform administrators", async () => {
  const { tenantId, key } = await sealedTenant(server);
  const ask = (as: { key: string } | { token: string }, query = '') => server.call('GET', `${VERIFY}${query}`, { as });
  const bound = await accountWithKey(server, { tenantId, subTenantId: 'eu' });
  expectProblem(await ask({ key: bound.key }), 403, 'tenant_forbidden');
  const narrow = await accountWithKey(server, { tenantId }, ['providers:read']);
  expectProblem(await ask({ key: narrow.key }), 403, 'scope_missing');
  const stranger = await sealedTenant(server);
  expectProblem(await ask({ key: stranger.key }, `?tenant_id=${tenantId}`), 403, 'tenant_forbidden');
  for (const role of ['viewer', 'operator'] as const) {
    const { token } = await memberWithToken(server, { tenantId }, role);
    expectProblem(await ask({ token }), 403, 'scope_missing');
  }
  expect((await ask({ key }, `?tenant_id=${tenantId}`)).body.tenantId).toBe(tenantId);
  expect((await ask(server.admin, `?tenant_id=${tenantId}`)).body).toMatchObject({ tenantId, status: 'intact' });
  const platform = await server.ok('GET', VERIFY, { as: server.admin });
  expect(platform).toMatchObject({ tenantId: null, status: 'intact' });
  expectProblem(await ask(server.admin, '?tenant_id=nobodys'), 404, 'tenant_not_found');
});

test('who reads the audit of several tenants has to name one', async () => {
  const [one, other] = [await sealedTenant(server), await sealedTenant(server)];
  const person = await registeredUser(server);
  for (const { tenantId } of [one, other]) await joinPlace(server, person, { place: { tenantId }, role: 'admin' });
  const as = { token: person.token };
  expectInvalid(await server.call('GET', VERIFY, { as }), { loc: ['query', 'tenant_id'], type: 'missing' });
  const named = await server.ok('GET', `${VERIFY}?tenant_id=${other.tenantId}`, { as });
  expect(named).toMatchObject({ tenantId: other.tenantId, status: 'intact' });
});
