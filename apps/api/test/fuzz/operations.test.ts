import { Agent } from 'node:http';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { LOOPBACK } from '../inventory-sync/peers.ts';
import { OPERATIONS } from '../support/records.ts';
import { startTestServer } from '../support/server.ts';
import { Changes } from './changes.ts';
import { play, type Stage } from './play.ts';
import { Records } from './records.ts';
import { requestsFor } from './requests.ts';

const CASES = inject('fuzzCases') ?? 200;
const SEED = inject('fuzzSeed') ?? Date.now() % 2 ** 31;

let stage: Stage;
beforeAll(async () => {
  const server = await startTestServer(LOOPBACK);
  const agent = new Agent({ keepAlive: true });
  const records = await Records.make(server);
  stage = { server, agent, records, changes: new Changes(server) };
});
afterAll(async () => {
  stage.agent.destroy();
  stage.changes.close();
  await stage.server.stop();
});

test.each(OPERATIONS.map((served) => [served.operation.operationId, served.operation] as const))(
  `%s takes what the document allows, refuses the rest without effect, and answers as declared`,
  { timeout: 60_000 + CASES * 100 },
  async (_, operation) => {
    // Nothing falls due by itself meanwhile: whatever changes is somebody's doing.
    stage.server.freeze();
    const mine = await stage.records.of(operation);
    const seen = new Map<number, number>();
    const property = fc.asyncProperty(requestsFor(operation), async (request) => {
      const { status, faults } = await play(stage, operation, mine, request);
      seen.set(status, (seen.get(status) ?? 0) + 1);
      if (faults.length > 0) throw new Error(faults.join('\n'));
    });
    await fc.assert(property, { numRuns: CASES, seed: SEED, endOnFailure: true });
    // Requests that are all refused at the door would prove little of what is behind it.
    expect([...seen.keys()], `answers seen: ${JSON.stringify([...seen])}`).toContain(200);
  },
);
