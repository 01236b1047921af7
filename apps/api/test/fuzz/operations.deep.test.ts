import { Agent } from 'node:http';
import { TENANT_RESOURCES } from '@quartermaster/contracts/tenant-usage.ts';
import { scaled } from '@quartermaster/db/testing/scale.ts';
import { onPostgres } from '@quartermaster/db/testing/test-database.ts';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { OPERATIONS } from '../support/records.ts';
import { startTestServer } from '../support/server.ts';
import { all } from '../telemetry/traces/sending.ts';
import { noteChanges } from './changes.ts';
import { play, type Stage } from './play.ts';
import { Records } from './records.ts';
import { type Request, requestsFor, validRequest } from './requests.ts';

/** Requests for each operation. PostgreSQL runs fewer, because both dialects run the same code. */
const CASES =
  inject('fuzzCases') ?? (onPostgres() ? scaled({ usual: 8, full: 50 }) : scaled({ usual: 20, full: 1000 }));
const SEED = inject('fuzzSeed') ?? Date.now() % 2 ** 31;

/** The first cases of each operation are valid requests, each with the next of the operation's records. */
const VALID_FIRST = 3;

let stage: Stage;
beforeAll(async () => {
  const server = await startTestServer(LOOPBACK, { noHousekeeping: true });
  const agent = new Agent({ keepAlive: true });
  // Creates the first signing key. Otherwise the first request for a gateway session would, even a refused one.
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
  `%s accepts valid requests, refuses all others without effect, and answers as the document declares`,
  async (_, operation) => {
    const mine = await stage.records.of(operation);
    const seen = new Map<number, number>();
    const property = fc.asyncProperty(requestsFor(operation), async (request) => {
      const { status, faults } = await play(stage, operation, mine, request);
      seen.set(status, (seen.get(status) ?? 0) + 1);
      if (faults.length > 0) throw new Error(faults.join('\n'));
    });
    // fast-check runs the examples first: valid requests of the owner.
    const examples = Array.from({ length: VALID_FIRST }, (_, record): [Request] => [validRequest(operation, record)]);
    await fc.assert(property, { numRuns: CASES, seed: SEED, examples, endOnFailure: true });
    if (operation.operationId === 'update_tenant_limits') await restoreLimits();
    // If all requests were refused, the run would prove little.
    expect([...seen.keys()], `answers seen: ${JSON.stringify([...seen])}`).toContain(200);
  },
);

/** Removes the random limits, which could refuse the requests of later operations. */
async function restoreLimits(): Promise<void> {
  const { server } = stage;
  const body = Object.fromEntries(TENANT_RESOURCES.map((resource) => [resource, null]));
  for (const { id } of await all(server, '/v1/tenants', server.admin)) {
    await server.ok('PUT', `/v1/tenants/${id}/limits`, { as: server.admin, body });
  }
}
