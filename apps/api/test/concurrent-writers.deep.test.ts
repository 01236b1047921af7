import { scaled } from '@quartermaster/db/testing/scale.ts';
import { test } from 'vitest';
import { serverOfTest } from './support/server.ts';
import { raceForTasks } from './task-claims.ts';

const ROUNDS = scaled({ usual: 15, full: 50 });

test(`of two operators who claim a task concurrently one gets it and the other 409, ${ROUNDS} times`, async () => {
  await raceForTasks(await serverOfTest(), ROUNDS);
});
