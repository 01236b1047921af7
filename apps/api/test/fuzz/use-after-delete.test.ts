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
  // Or whoever asks for a session first, of whatever gateway, would have the first signing key made.
  await server.ok('GET', '/.well-known/jwks.json');
  changes = await noteChanges(server);
});
afterAll(async () => {
  await changes.close();
  await server.stop();
});

const operations = OPERATIONS.map(({ operation }) => operation);
const deletions = operations.filter(({ method }) => method === 'DELETE');

/** What is revoked is over, and stays to be read; what was removed from a record may be put there anew. */
const OTHERWISE: Record<string, Record<string, number>> = {
  revoke_service_account_key: { rotate_service_account_key: 409 },
  revoke_gateway_session: { get_gateway_session: 200, list_gateway_session_grants: 200 },
  delete_provider_credential: { put_provider_credential: 200 },
};

/** What a platform administrator asks of a deleted record, or of something in it. */
function uses({ path, operationId }: Operation): Operation[] {
  const within = operations.filter((one) => one.path === path || one.path.startsWith(`${path}/`));
  // What succeeds may make the record anew: it comes last.
  const expected = (use: Operation) => OTHERWISE[operationId]?.[use.operationId] ?? 404;
  return within.toSorted((a, b) => expected(b) - expected(a));
}

test.each(deletions.map((deletion) => [deletion.operationId, deletion] as const))(
  'after %s the record, and whatever is in it, answers 404 to every operation, and nothing is done',
  async (_, deletion) => {
    const input = await validInput(server, deletion);
    const as = await ownersCredential(server, deletion);
    await server.ok('DELETE', targetOf(deletion, input), { as });
    for (const use of uses(deletion)) {
      const { query, body } = FIXTURES[use.operationId] ?? {};
      const before = await changes.now();
      const target = targetOf(use, { path: { ...missing(use), ...input.path }, query: query?.(OWNER) ?? {} });
      const sent = use.body ? { body: body?.(OWNER) ?? {} } : {};
      const answer = await server.call(use.method, target, { as: server.admin, ...sent });
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

/** Ids of nothing, for the records within the deleted one. */
function missing(operation: Operation): Record<string, string> {
  return Object.fromEntries(Object.keys(operation.params?.shape ?? {}).map((name) => [name, 'missing']));
}
