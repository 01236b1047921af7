import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Place } from '../support/people.ts';
import { OPERATIONS } from '../support/records.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { commitsOf } from '../support/tables.ts';
import { callOver, type Transport } from './callers.ts';
import { validInput } from './fixtures.ts';
import { fieldOf, ID_FIELDS, idPlaces, keysOf, type Named, withId } from './id-fields.ts';
import { type Input, keyWith, missingId, OWNER, PLACES } from './world.ts';

/*
 * Tests ids in bodies and queries. The tests are generated from the contracts. For each such field a stranger makes a valid
 * call with records of their own in its path, and names the owner's record in the field. The answer must be the same as for
 * an id that does not exist. The owner, who names the record in the same way, must get a different answer. Otherwise the
 * test would prove nothing.
 */
let server: TestServer;
/** Longer than the suite takes on a busy machine, and shorter than the lifetime of tokens. */
const AHEAD_MS = 20 * 60_000;

const committed = () => commitsOf(server.services);

beforeAll(async () => {
  server = await startTestServer({}, { noHousekeeping: true });
  // With a frozen clock the last use of each key is written once, and never during a test.
  // The clock is ahead of the identity provider's, so that no token is issued in its future.
  server.freeze(AHEAD_MS);
  for (const place of [OWNER, ...Object.values(PLACES)]) {
    const key = await keyWith(server, place, ['*']);
    await server.call('GET', '/v1/providers', { as: { key } });
  }
  // The first session creates the signing key in a separate transaction.
  const gateway = await server.ok('POST', '/v1/gateways', { as: server.admin, body: { name: 'first', ...OWNER } });
  await server.ok('POST', `/v1/gateways/${gateway.id}/sessions`, { as: server.admin });
});

afterAll(() => server.stop());

const TRANSPORTS: Transport[] = ['REST', 'tRPC'];
const STRANGERS = [
  ['another tenant', PLACES.otherTenant, [OWNER.tenantId, OWNER.subTenantId]],
  ['a sibling sub-tenant', PLACES.sibling, [OWNER.subTenantId]],
] as const;

const places = OPERATIONS.flatMap((served) => idPlaces(served.operation).map((place) => ({ served, place })));
const cases = places.flatMap(({ served, place }) => {
  const { makers = {}, inert } = fieldOf(place) ?? {};
  return Object.entries(makers).flatMap(([form, make]) =>
    TRANSPORTS.map((transport) => ({ served, place, name: keysOf(place)[0], form, make, inert, transport })),
  );
});

describe.each(cases)('$name of the $form over $transport', ({ served, place, make, inert, transport }) => {
  /** Calls with the id in the field. Values that differ with every call are blanked out of the answer. */
  const answer = async (at: Place, id: string, { path = {}, body }: Omit<Named, 'id'> = {}) => {
    const made = await validInput(server, served.operation, at);
    const input = withId({ ...made, ...(body && { body }), path: { ...made.path, ...path } }, place, id);
    const as = { key: await keyWith(server, at, ['*']) };
    const before = await committed();
    const { status, text } = await callOver(transport, server, served, { input, as });
    if (status !== 200) expect(await committed(), text).toEqual(before);
    return { status, text: blanked(text, id, input) };
  };

  test.each(STRANGERS)('the answer to %s reveals nothing', async (_, at, marks) => {
    const { id, body } = await make(server);
    const named = body === undefined ? {} : { body };
    const existing = await answer(at, id, named);
    expect(existing).toEqual(await answer(at, missingId(id), named));
    for (const mark of marks) expect(existing.text).not.toContain(mark);
    expect([200, 422], existing.text).toContain(existing.status);
  });

  test('the owner gets a different answer, unless the field is inert', async () => {
    const { id, ...named } = await make(server);
    const existing = await answer(OWNER, id, named);
    expect(existing.status, existing.text).toBe(200);
    const missingAnswer = await answer(OWNER, missingId(id), named);
    if (inert === undefined) expect(missingAnswer).not.toEqual(existing);
    else expect(missingAnswer).toEqual(existing);
  });
});

test('every id field has a fixture, and every fixture belongs to an id field', () => {
  const without = places.filter(({ place }) => !fieldOf(place)).map(({ place }) => keysOf(place)[0]);
  expect(without).toEqual([]);
  const used = new Set(
    places.flatMap(({ place }) => {
      const [own, common] = keysOf(place);
      return own in ID_FIELDS ? [own] : [common];
    }),
  );
  expect(Object.keys(ID_FIELDS).filter((name) => !used.has(name))).toEqual([]);
});

function blanked(text: string, id: string, { path = {}, body }: Input): string {
  const { name } = (body ?? {}) as { name?: unknown };
  const own = [...Object.values(path), ...(typeof name === 'string' ? [name] : [])];
  return own
    .reduce((left, value) => left.replaceAll(value, '<own>'), text.replaceAll(id, '<id>'))
    .replaceAll(/sha256:[0-9a-f]{64}/g, '<digest>')
    .replaceAll(/"id":"[^"]+"/g, '"id":"<new>"');
}
