import * as contract from '@quartermaster/contracts/audit-events.ts';
import { listAuditEvents } from '@quartermaster/db/repositories/audit-events.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { withTargetNames } from './target-names.ts';
import { verify } from './verify.ts';

export const auditEventsRouter = router({
  list: endpoint(contract.listAuditEvents).query(({ ctx, input }) => {
    const { query } = input;
    const scope = scopeOfQuery(ctx, query);
    const filter = {
      actorId: query.actor_id,
      operation: query.operation,
      targetId: query.target_id,
      outcome: query.outcome,
      decision: query.decision,
      createdAfter: query.created_after,
      createdBefore: query.created_before,
    };
    return answerPage(ctx, input, scope, async (page) => {
      const { items, next } = await listAuditEvents(ctx.services.db, scope, filter, page);
      return { items: await withTargetNames(ctx, items), next };
    });
  }),
  verify: endpoint(contract.verifyAuditEvents).query(({ ctx, input }) => verify(ctx, input)),
});
