import * as contract from '@quartermaster/contracts/operator-tasks.ts';
import { listOperatorTasks } from '@quartermaster/db/repositories/operator-tasks.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import { cancelTask, claimTask, completeTask, requireTask } from './service.ts';

export const operatorTasksRouter = router({
  list: endpoint(contract.listOperatorTasks).query(({ ctx, input }) => {
    const { db, databaseNow } = ctx.services;
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, async (page) =>
      listOperatorTasks(db, scope, input.query, page, await databaseNow(db)),
    );
  }),

  get: endpoint(contract.getOperatorTask).query(async ({ ctx, input }) => {
    const { db, databaseNow } = ctx.services;
    return requireTask(ctx, db, input.path.task_id, await databaseNow(db));
  }),

  claim: conditionalEndpoint(contract.claimOperatorTask, current).mutation(({ ctx, input }) =>
    claimTask(ctx, input.path.task_id, input.body),
  ),

  complete: conditionalEndpoint(contract.completeOperatorTask, current).mutation(({ ctx, input }) =>
    completeTask(ctx, input.path.task_id, input.body),
  ),

  cancel: conditionalEndpoint(contract.cancelOperatorTask, current).mutation(({ ctx, input }) =>
    cancelTask(ctx, input.path.task_id, input.body),
  ),
});

async function current(ctx: CallerContext, { path }: { path: { task_id: string } }) {
  const { db, databaseNow } = ctx.services;
  return requireTask(ctx, db, path.task_id, await databaseNow(db));
}
