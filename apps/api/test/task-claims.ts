import { expect } from 'vitest';
import { expectProblem } from './endpoints/harness.ts';
import { newTenant } from './governance/loop-support.ts';
import { accountWithKey, unique } from './support/people.ts';
import type { Answered, Credential, TestServer } from './support/server.ts';

/** Waits for concurrent requests. Returns their sorted statuses, and the answers. */
export async function together(requests: Promise<Answered>[]): Promise<{ statuses: number[]; answers: Answered[] }> {
  const answers = await Promise.all(requests);
  return { statuses: answers.map(({ status }) => status).toSorted((a, b) => a - b), answers };
}

/** Two operators claim a new task concurrently in each round. Expects that one of them gets it. */
export async function raceForTasks(server: TestServer, rounds: number): Promise<void> {
  const tenant = await newTenant(server);
  const operators = [tenant.operator, await accountWithKey(server, { tenantId: tenant.tenantId })] as const;
  for (let round = 0; round < rounds; round += 1) {
    const model = unique('model');
    await tenant.see(model);
    const task = (await tenant.tasks()).find(({ title }) => title.includes(model));
    const path = `/v1/operator/tasks/${task?.id}`;
    const claim = (as: Credential) => server.call('POST', `${path}/claim`, { as });
    const { statuses, answers } = await together(operators.map(claim));
    expect(statuses).toEqual([200, 409]);
    for (const [index, answered] of answers.entries()) {
      if (answered.status !== 200) expectProblem(answered, 409, 'operator_task_claimed');
      else
        expect(await server.ok('GET', path, { as: operators[0] })).toMatchObject({
          assignee: operators[index]?.principal,
        });
    }
  }
}
