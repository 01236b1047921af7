import * as contract from '@quartermaster/contracts/agents.ts';
import { declareAgentChannel } from '@quartermaster/contracts/channels.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { paged } from '../../http/cursors.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { declareChannel } from './declare-channel.ts';
import { getAgent, listAgents } from './service.ts';

export const agentsRouter = router({
  list: endpoint(contract.listAgents).query(async ({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    const { after, cursorAt } = paged(ctx, input, scope);
    const { items, next, range } = await listAgents(ctx, scope, input.query, { limit: input.query.limit, after });
    return { items, nextCursor: next && cursorAt(next), ...range };
  }),

  get: endpoint(contract.getAgent).query(({ ctx, input }) => getAgent(ctx, input.path.agent_id, input.query)),

  declareChannel: endpoint(declareAgentChannel).mutation(({ ctx, input }) =>
    declareChannel(ctx, input.path.agent_id, input.path.channel),
  ),
});
