import * as contract from '@quartermaster/contracts/derived-access.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { pageOfDerivedAccess, revokeDerivedAccess } from './service.ts';

export const derivedAccessRouter = router({
  list: endpoint(contract.listDerivedAccess).query(({ ctx, input }) =>
    answerPage(ctx, input, ctx.reach, (page) => pageOfDerivedAccess(ctx, input.query.source, page)),
  ),

  revoke: endpoint(contract.revokeDerivedAccess).mutation(({ ctx, input }) => revokeDerivedAccess(ctx, input.body)),
});
