import * as contract from '@quartermaster/contracts/graph.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { endpoint, router } from '../../http/trpc.ts';
import { readGraph } from './service.ts';

export const graphRouter = router({
  get: endpoint(contract.getGraph).query(({ ctx, input: { query } }) => {
    const { from, to, agent, provider_id: providerId, kind, max_edges: maxEdges } = query;
    return readGraph(ctx, scopeOfQuery(ctx, query), { from, to, filter: { agent, providerId, kind }, maxEdges });
  }),
});
