import * as contract from '@quartermaster/contracts/agents.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { getAgent, listAgents } from './service.ts';

export const agentsRouter = router({
  list: endpoint(contract.listAgents).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listAgents(ctx, scope, input.query, page));
  }),

  get: endpoint(contract.getAgent).query(({ ctx, input }) => getAgent(ctx, input.path.agent_id, input.query)),
});
