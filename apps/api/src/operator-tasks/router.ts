import * as contract from '@quartermaster/contracts/operator-tasks.ts';
import { listOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import { scopeOfQuery } from '../access/places.ts';
import { answerPage } from '../pages.ts';
import { endpoint, router } from '../trpc.ts';
import { cancelTask, claimTask, completeTask, requireTask } from './service.ts';

export const operatorTasksRouter = router({
  list: endpoint(contract.listOperatorTasks).query(({ ctx, input }) => {
    const { db, now } = ctx.services;
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listOperatorTasks(db, scope, input.query, page, now()));
  }),

  get: endpoint(contract.getOperatorTask).query(({ ctx, input }) => {
    const { db, now } = ctx.services;
    return requireTask(ctx, db, input.path.task_id, now());
  }),

  claim: endpoint(contract.claimOperatorTask).mutation(({ ctx, input }) =>
    claimTask(ctx, input.path.task_id, input.body),
  ),

  complete: endpoint(contract.completeOperatorTask).mutation(({ ctx, input }) =>
    completeTask(ctx, input.path.task_id, input.body),
  ),

  cancel: endpoint(contract.cancelOperatorTask).mutation(({ ctx, input }) =>
    cancelTask(ctx, input.path.task_id, input.body),
  ),
});
