import { Agent } from 'node:http';
import { TENANT_RESOURCES } from '@quartermaster/contracts/tenant-usage.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { OPERATIONS } from '../support/records.ts';
import { startTestServer } from '../support/server.ts';
import { noteChanges } from './changes.ts';
import { play, type Stage } from './play.ts';
import { Records } from './records.ts';
import { type Request, requestsFor, validRequest } from './requests.ts';

/** Requests for each operation. Both dialects run the same code: what only Postgres can refuse shows in fewer. */
const CASES =
  inject('fuzzCases') ?? (onPostgres() ? scaled({ usual: 8, full: 50 }) : scaled({ usual: 30, full: 1000 }));
const SEED = inject('fuzzSeed') ?? Date.now() % 2 ** 31;

/** Of the cases of each operation; those that use up a record find the next one. */
const VALID_FIRST = 3;

let stage: Stage;
beforeAll(async () => {
  const server = await startTestServer(LOOPBACK, { noHousekeeping: true });
  const agent = new Agent({ keepAlive: true });
  // Or whoever asks for a session first, allowed or not, would have the first signing key made.
  await server.ok('GET', '/.well-known/jwks.json');
  const records = await Records.make(server);
  stage = { server, agent, records, changes: await noteChanges(server) };
});
afterAll(async () => {
  stage.agent.destroy();
  await stage.changes.close();
  await stage.server.stop();
});

test.each(OPERATIONS.map((served) => [served.operation.operationId, served.operation] as const))(
  `%s takes what the document allows, refuses the rest without effect, and answers as declared`,
  { timeout: 60_000 + CASES * 100 },
  async (_, operation) => {
    const mine = await stage.records.of(operation);
    const seen = new Map<number, number>();
    const property = fc.asyncProperty(requestsFor(operation), async (request) => {
      const { status, faults } = await play(stage, operation, mine, request);
      seen.set(status, (seen.get(status) ?? 0) + 1);
      if (faults.length > 0) throw new Error(faults.join('\n'));
    });
    // Examples come first: nothing but what is known to do, from whoever may.
    const examples = Array.from({ length: VALID_FIRST }, (_, record): [Request] => [validRequest(operation, record)]);
    await fc.assert(property, { numRuns: CASES, seed: SEED, examples, endOnFailure: true });
    if (operation.operationId === 'update_tenant_limits') await restoreLimits();
    // Requests that are all refused at the door would prove little of what is behind it.
    expect([...seen.keys()], `answers seen: ${JSON.stringify([...seen])}`).toContain(200);
  },
);

/** Random limits would refuse what the operations after this one need. */
async function restoreLimits(): Promise<void> {
  const { server } = stage;
  const body = Object.fromEntries(TENANT_RESOURCES.map((resource) => [resource, null]));
  const { items } = await server.ok('GET', '/v1/tenants?limit=100', { as: server.admin });
  for (const { id } of items) await server.ok('PUT', `/v1/tenants/${id}/limits`, { as: server.admin, body });
}
