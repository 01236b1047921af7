import type { Operation } from '@quartermaster/contracts/operation.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FIXTURES, ownersCredential, validInput } from '../isolation/fixtures.ts';
import { type Input, OWNER } from '../isolation/world.ts';
import { OPERATIONS, pathWith } from '../support/records.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { type Changes, noteChanges } from './changes.ts';

let server: TestServer;
let changes: Changes;
beforeAll(async () => {
  server = await startTestServer({}, { noHousekeeping: true });
  // Creates the first signing key. Otherwise the first request for a gateway session would, and count as a change.
  await server.ok('GET', '/.well-known/jwks.json');
  changes = await noteChanges(server);
});
afterAll(async () => {
  await changes.close();
  await server.stop();
});

const operations = OPERATIONS.map(({ operation }) => operation);
const deletions = operations.filter(({ method }) => method === 'DELETE');

/**
 * The uses that do not answer 404. A revoked credential or session ends, but can still be read. What was removed from a
 * record can be put there again.
 */
const OTHERWISE: Record<string, Record<string, number>> = {
  revoke_service_account_key: { rotate_service_account_key: 409 },
  revoke_gateway_session: { get_gateway_session: 200, list_gateway_session_grants: 200 },
  delete_provider_credential: { put_provider_credential: 200 },
  delete_provider_secret_header: { put_provider_secret_header: 200 },
  // The user remains, and these operations are idempotent.
  withdraw_identity_relink: { get_identity_relink: 200, allow_identity_relink: 200, withdraw_identity_relink: 200 },
  revoke_platform_administrator: { grant_platform_administrator: 200, revoke_platform_administrator: 200 },
};

/** The operations on a deleted record, or on a record within it. */
function uses({ path, operationId }: Operation): Operation[] {
  const within = operations.filter((one) => one.path === path || one.path.startsWith(`${path}/`));
  // A use that succeeds may create the record again, so these come last.
  const expected = (use: Operation) => OTHERWISE[operationId]?.[use.operationId] ?? 404;
  return within.toSorted((a, b) => expected(b) - expected(a));
}

test.each(deletions.map((deletion) => [deletion.operationId, deletion] as const))(
  'after %s every operation on the record, or on a record within it, answers 404 and changes nothing',
  async (_, deletion) => {
    // Create the owner first, because records of a user are created for this one.
    const as = await ownersCredential(server, deletion);
    const input = await validInput(server, deletion);
    await server.ok('DELETE', targetOf(deletion, input), { as });
    for (const use of uses(deletion)) {
      const { query, body } = FIXTURES[use.operationId] ?? {};
      const before = await changes.now();
      const target = targetOf(use, { path: { ...missing(use), ...input.path }, query: query?.(OWNER) ?? {} });
      const sent = use.body ? { body: body?.(OWNER) ?? {} } : {};
      const caller = use.errors.includes('user_required') ? as : server.admin;
      const answer = await server.call(use.method, target, { as: caller, ...sent });
      const expected = OTHERWISE[deletion.operationId]?.[use.operationId] ?? 404;
      expect(answer.status, `${use.operationId}: ${answer.text}`).toBe(expected);
      if (expected !== 200) expect(await changes.since(before), use.operationId).toEqual([]);
    }
  },
);

function targetOf(operation: Operation, { path = {}, query = {} }: Input): string {
  const search = new URLSearchParams(query as Record<string, string>).toString();
  return pathWith(operation, path) + (search === '' ? '' : `?${search}`);
}

/** Ids that do not exist, for the records within the deleted one. */
function missing(operation: Operation): Record<string, string> {
  return Object.fromEntries(Object.keys(operation.params?.shape ?? {}).map((name) => [name, 'missing']));
}
