import * as contract from '@quartermaster/contracts/users.ts';
import { listUsers } from '@quartermaster/db/repositories/users.ts';
import { scopeOfQuery } from '../access/places.ts';
import { answerPage } from '../pages.ts';
import { endpoint, router } from '../trpc.ts';
import { updateMyProfile } from './profile.ts';
import { deleteUser, disableUser, enableUser, requireUser, viewOf } from './service.ts';

export const usersRouter = router({
  updateMyProfile: endpoint(contract.updateMyProfile).mutation(({ ctx, input }) => updateMyProfile(ctx, input.body)),

  list: endpoint(contract.listUsers).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listUsers(ctx.services.db, scope, viewOf(ctx), input.query, page));
  }),

  get: endpoint(contract.getUser).query(({ ctx, input }) => requireUser(ctx, input.path.user_id)),

  delete: endpoint(contract.deleteUser).mutation(({ ctx, input }) => deleteUser(ctx, input.path.user_id)),

  disable: endpoint(contract.disableUser).mutation(({ ctx, input }) => disableUser(ctx, input.path.user_id)),

  enable: endpoint(contract.enableUser).mutation(({ ctx, input }) => enableUser(ctx, input.path.user_id)),
});
