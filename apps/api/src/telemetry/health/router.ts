import * as contract from '@quartermaster/contracts/telemetry-health.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { listHealth } from './list-health.ts';

export const telemetryHealthRouter = router({
  list: endpoint(contract.listTelemetryHealth).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listHealth(ctx, scope, input.query, page));
  }),
});
