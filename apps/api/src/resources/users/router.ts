import * as contract from '@quartermaster/contracts/users.ts';
import { listUsers } from '@quartermaster/db/repositories/users.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import { allowRelink, identityRelinkOf, withdrawRelink } from './identity-relink.ts';
import { myProfile, updateMyProfile } from './profile.ts';
import { setPlatformAdministratorOf } from './platform-administrators.ts';
import { deleteUser, disableUser, enableUser, requireUser, viewOf } from './service.ts';

export const usersRouter = router({
  updateMyProfile: conditionalEndpoint(contract.updateMyProfile, myProfile).mutation(({ ctx, input }) =>
    updateMyProfile(ctx, input.body),
  ),

  list: endpoint(contract.listUsers).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listUsers(ctx.services.db, scope, viewOf(ctx), input.query, page));
  }),

  get: endpoint(contract.getUser).query(({ ctx, input }) => requireUser(ctx, input.path.user_id)),

  delete: conditionalEndpoint(contract.deleteUser, current).mutation(({ ctx, input }) =>
    deleteUser(ctx, input.path.user_id),
  ),

  disable: conditionalEndpoint(contract.disableUser, current).mutation(({ ctx, input }) =>
    disableUser(ctx, input.path.user_id),
  ),

  grantPlatformAdministrator: conditionalEndpoint(contract.grantPlatformAdministrator, current).mutation(
    ({ ctx, input }) => setPlatformAdministratorOf(ctx, input.path.user_id, true),
  ),

  revokePlatformAdministrator: conditionalEndpoint(contract.revokePlatformAdministrator, current).mutation(
    ({ ctx, input }) => setPlatformAdministratorOf(ctx, input.path.user_id, false),
  ),

  enable: conditionalEndpoint(contract.enableUser, current).mutation(({ ctx, input }) =>
    enableUser(ctx, input.path.user_id),
  ),

  getIdentityRelink: endpoint(contract.getIdentityRelink).query(({ ctx, input }) =>
    identityRelinkOf(ctx, input.path.user_id),
  ),

  allowIdentityRelink: endpoint(contract.allowIdentityRelink).mutation(({ ctx, input }) =>
    allowRelink(ctx, input.path.user_id),
  ),

  withdrawIdentityRelink: endpoint(contract.withdrawIdentityRelink).mutation(({ ctx, input }) =>
    withdrawRelink(ctx, input.path.user_id),
  ),
});

function current(ctx: CallerContext, { path }: { path: { user_id: string } }) {
  return requireUser(ctx, path.user_id);
}
