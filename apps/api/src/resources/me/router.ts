import * as sessionsContract from '@quartermaster/contracts/console-sessions.ts';
import * as contract from '@quartermaster/contracts/me.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { describeCaller } from './service.ts';
import { listMySessions, revokeMySession } from './sessions.ts';

export const meRouter = router({
  get: endpoint(contract.getMe).query(({ ctx }) => describeCaller(ctx)),

  listSessions: endpoint(sessionsContract.listMySessions).query(({ ctx, input }) =>
    answerPage(ctx, input, [], (page) => listMySessions(ctx, page)),
  ),

  revokeSession: endpoint(sessionsContract.revokeMySession).mutation(({ ctx, input }) =>
    revokeMySession(ctx, input.path.session_id),
  ),
});
