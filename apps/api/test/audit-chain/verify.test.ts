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
  TEXT_COLUMNS,
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

/** A server on the same database without remembered heads: it starts after the change, and does not seal. */
async function startFreshServer(): Promise<TestServer> {
  const other = await startTestServer({ DATABASE_URL: server.databaseUrl }, { noHousekeeping: true });
  onTestFinished(() => other.stop());
  return other;
}

test('verify_audit_events answers 200 for an unchanged chain: intact, with its size and signed head', async () => {
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

test('the chain contains the events in the order of the list', async () => {
  const { tenantId } = await sealedTenant(server);
  const listed = await server.ok('GET', `/v1/audit-events?limit=100&tenant_id=${tenantId}`, { as: server.admin });
  const links = await linksOf(server.services.db, tenantId);
  expect(links.map(({ event_id }) => event_id)).toEqual(listed.items.map(({ id }: Body) => id).toReversed());
});

describe('verification reports a change made directly in the database:', () => {
  test('a changed row', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { id } = await eventAt(server.services.db, tenantId, 3);
    await tamper(server, (db) => run(db, `update audit_events set actor_id = 'somebody-else' where id = ?`, id));
    const answer = await verified(server, key);
    expectFaults(answer, 'changed@3');
    expect(answer.faults[0].eventId).toBe(id);
  });

  test('a change of any text of a row', async () => {
    const { tenantId, key } = await sealedTenant(server, TEXT_COLUMNS.length);
    const rows = await eventsOf(server.services.db, tenantId);
    await tamper(server, async (db) => {
      for (const [index, column] of TEXT_COLUMNS.entries()) {
        await run(db, `update audit_events set ${column} = 'changed' where id = ?`, at(rows, index + 1).id);
      }
    });
    expectFaults(await verified(server, key), ...TEXT_COLUMNS.map((_, index) => `changed@${index + 1}`));
  });

  test('another value before or after a change', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { id } = await eventAt(server.services.db, tenantId, 2);
    const changes = JSON.stringify([{ field: 'role', before: 'viewer', after: 'admin' }]);
    await tamper(server, (db) => run(db, `update audit_events set changes = ? where id = ?`, changes, id));
    expectFaults(await verified(server, key), 'changed@2');
  });

  test('a row that is no longer a valid event', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { id } = await eventAt(server.services.db, tenantId, 1);
    await tamper(server, (db) => run(db, `update audit_events set changed_fields = '[' where id = ?`, id));
    expectFaults(await verified(server, key), 'changed@1');
  });

  test('a removed row, with or without its link', async () => {
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

  test('a removed link, and the event that has no link any more', async () => {
    const { tenantId, key } = await sealedTenant(server);
    await tamper(server, (db) => run(db, 'delete from audit_chain where tenant_id = ? and position = 4', tenantId));
    expectFaults(await verified(server, key), 'removed@4', 'inserted@');
  });

  test('a removed tail, because of the newest head', async () => {
    const { tenantId, key } = await sealedTenant(server);
    await tamper(server, (db) => removeTail(db, tenantId, 5));
    expectFaults(await verified(server, key), 'tail_removed@5');
  });

  test('a removed tail with its heads, because of a head that was kept elsewhere or that the server remembers', async () => {
    const { tenantId, key } = await sealedTenant(server, 3);
    const { head: early, size } = await verified(server, key);
    // The last head of a day is kept once the next day has one.
    server.travel(DAY_MS);
    for (let count = 0; count < 2; count += 1) {
      await writeOne(server, key);
      await server.services.audit.sealer.pass();
    }
    const { head: kept } = await verified(server, key);
    await tamper(server, async (db) => {
      await removeTail(db, tenantId, size + 1);
      await run(db, 'delete from audit_heads where tenant_id = ? and size > ?', tenantId, size);
    });
    for (const query of [{}, { head: early }, { head: kept }]) {
      expectFaults(await verified(server, key, query), `tail_removed@${size + 1}`);
    }
    const other = await startFreshServer();
    expectFaults(await verified(other, key));
    expectFaults(await verified(other, key, { head: early }));
    expectFaults(await verified(other, key, { head: kept }), `tail_removed@${size + 1}`);
  });

  test('a removed chain, because of a head that was kept elsewhere or that the server remembers', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { head } = await verified(server, key);
    await tamper(server, async (db) => {
      for (const table of ['audit_events', 'audit_chain', 'audit_heads']) {
        await run(db, `delete from ${table} where tenant_id = ?`, tenantId);
      }
    });
    for (const query of [{}, { head }]) expectFaults(await verified(server, key, query), 'tail_removed@1');
    const other = await startFreshServer();
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

  test.each(PAIRS)('two links swapped, at %i and %i, with or without their hashes', async (first, second) => {
    for (const hashes of [true, false]) {
      const { tenantId, key } = await sealedTenant(server);
      const rows = await linksOf(server.services.db, tenantId);
      await tamper(server, (db) => swapLinks(db, [at(rows, first), at(rows, second)], hashes));
      expectFaults(await verified(server, key), `swapped@${first}`, `swapped@${second}`);
    }
  });

  test('a row inserted directly', async () => {
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

  test('a row inserted with a link at the end of the chain', async () => {
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
      // Both the link and the event are reported.
      expectFaults(answer, 'inserted@', 'forged@');
      expect(answer.faults.map(({ eventId }: Body) => eventId)).toEqual([id, id]);
      expect(answer.checked).toBe(size);
      const one = await verified(server, key, { limit: '1' });
      expect([one.status, one.faults.length, one.checked]).toEqual(['broken', 1, 0]);
      const rest = await verified(server, key, { limit: '1000', cursor: one.nextCursor });
      expect([rest.faults.length, rest.checked, rest.nextCursor]).toEqual([1, size, null]);
    },
  );

  test('regression: a link before the first one, without an event', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const link = { tenant_id: tenantId, position: -1, event_id: 'none', leaf: '00', hash: '00' };
    await tamper(server, (db) => db.insertInto('audit_chain').values(link).execute());
    expectFaults(await verified(server, key), 'inserted@');
  });

  test('regression: a row with an empty id, in one call and in pages of one row', async () => {
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

  test.skipIf(onPostgres())('regression: links and heads at positions that only SQLite can store', async () => {
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
    // A head beyond the end does not hide that the end is unsigned.
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

  test('a recomputed chain, because of the signed head', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { id } = await eventAt(server.services.db, tenantId, 1);
    const { position } = await tamper(server, async (db) => {
      await run(db, `update audit_events set outcome = 'failure' where id = ?`, id);
      return recompute(db, tenantId);
    });
    expectFaults(await verified(server, key), `recomputed@${position}`);
  });

  test('a recomputed chain with heads signed by a key that was inserted into the database', async () => {
    const { tenantId, key } = await sealedTenant(server);
    const { head: kept } = await verified(server, key);
    const { kid } = decodeProtectedHeader(kept);
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const { crv, x, y } = await exportJWK(publicKey);
    // From now on the published key is the attacker's.
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
    const other = await startFreshServer();
    expectFaults(await verified(other, key), `head_forged@${size}`);
    expectFaults(await verified(other, key, { head: kept }), `head_forged@${size}`, `recomputed@${size}`);
  });

  test('a chain without heads, and a chain with a head of another chain', async () => {
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

test('the time in the answer is the signed one, not the one in the column', async () => {
  const { tenantId, key } = await sealedTenant(server);
  const { head, sealedAt } = await verified(server, key);
  const signed = new Date(Number(decodeJwt(head).iat) * 1000).toISOString();
  expect(sealedAt).toBe(signed);
  await tamper(server, (db) =>
    run(db, `update audit_heads set sealed_at = '2020-01-01T00:00:00.000Z' where tenant_id = ?`, tenantId),
  );
  expect((await verified(server, key)).sealedAt).toBe(signed);
  // A token with a time beyond the range of dates is not a valid head.
  const [header = '', , signature = ''] = head.split('.');
  const claims = Buffer.from(JSON.stringify({ ...decodeJwt(head), iat: 2 ** 52 })).toString('base64url');
  const forged = [header, claims, signature].join('.');
  await tamper(server, (db) => run(db, 'update audit_heads set token = ? where tenant_id = ?', forged, tenantId));
  expect(await verified(server, key)).toMatchObject({ status: 'broken', sealedAt: null });
});

test('an answer contains a bounded number of faults, and the next page continues', async () => {
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

test('a cursor is valid only for its chain and caller', async () => {
  const [one, other] = [await sealedTenant(server), await sealedTenant(server)];
  const { nextCursor: cursor } = await verified(server, one.key, { limit: '1' });
  const fault = { loc: ['query', 'cursor'], type: 'value_error' };
  const ask = (key: string, query: string) => server.call('GET', `${VERIFY}?${query}`, { as: { key } });
  expectInvalid(await ask(other.key, `limit=1&cursor=${cursor}`), fault);
  expectInvalid(await ask(one.key, `limit=1&cursor=${cursor.slice(0, -1)}`), fault);
  expectInvalid(await ask(server.admin.key, `tenant_id=${one.tenantId}&cursor=${cursor}`), fault);
});

test('answers 422 for a head that is invalid, of another chain, or signed elsewhere', async () => {
  const [one, other] = [await sealedTenant(server), await sealedTenant(server)];
  const { head: foreign } = await verified(server, other.key);
  const { head: own } = await verified(server, one.key);
  const [header, payload] = own.split('.');
  const gateway = await server.ok('POST', '/v1/gateways', { as: { key: one.key }, body: { name: 'heads' } });
  const session = await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: { key: one.key } });
  // Regression: an empty head was treated as if no head had been sent.
  for (const head of ['', 'none', foreign, `${header}.${payload}.${'A'.repeat(86)}`, `${header}.e30.`, session.token]) {
    const answer = await server.call('GET', `${VERIFY}?head=${head}`, { as: { key: one.key } });
    expectInvalid(answer, { loc: ['query', 'head'], type: 'value_error' });
  }
});

test('only readers of a whole tenant verify its chain, and only platform administrators verify the platform’s chain', async () => {
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

test('a caller who reads the audit of several tenants must name one', async () => {
  const [one, other] = [await sealedTenant(server), await sealedTenant(server)];
  const person = await registeredUser(server);
  for (const { tenantId } of [one, other]) await joinPlace(server, person, { place: { tenantId }, role: 'admin' });
  const as = { token: person.token };
  expectInvalid(await server.call('GET', VERIFY, { as }), { loc: ['query', 'tenant_id'], type: 'missing' });
  const named = await server.ok('GET', `${VERIFY}?tenant_id=${other.tenantId}`, { as });
  expect(named).toMatchObject({ tenantId: other.tenantId, status: 'intact' });
});
