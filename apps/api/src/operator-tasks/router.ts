import * as contract from '@quartermaster/contracts/operator-tasks.ts';
import { findOperatorTask, listOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import { scopeOfQuery } from '../access/places.ts';
import { ApiError } from '../errors.ts';
import { answerPage } from '../pages.ts';
import { endpoint, router } from '../trpc.ts';

export const operatorTasksRouter = router({
  list: endpoint(contract.listOperatorTasks).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listOperatorTasks(ctx.services.db, scope, input.query, page));
  }),

  get: endpoint(contract.getOperatorTask).query(async ({ ctx, input }) => {
    const task = await findOperatorTask(ctx.services.db, ctx.reach, input.path.task_id);
    if (task) return task;
    throw new ApiError('operator_task_not_found', 'No operator task of this id in your reach.');
  }),
});
