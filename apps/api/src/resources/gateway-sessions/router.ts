import * as contract from '@quartermaster/contracts/gateway-sessions.ts';
import { listGatewaySessions } from '@quartermaster/db/repositories/gateway-sessions.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { requireGateway } from '../gateways/service.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import { introspectSession } from './introspect.ts';
import { createGatewaySession, pageOfGrants, requireGatewaySession, revokeSession } from './service.ts';

export const gatewaySessionsRouter = router({
  create: endpoint(contract.createGatewaySession).mutation(({ ctx, input }) =>
    createGatewaySession(ctx, input.path.gateway_id, input.body),
  ),

  list: endpoint(contract.listGatewaySessions).query(async ({ ctx, input: { path, query } }) => {
    const { db, now } = ctx.services;
    const gateway = await requireGateway(ctx, db, path.gateway_id);
    // The query uses the gateway's place, which is narrower than the reach and fits the index. The cursor is bound to the reach.
    const scope = scopeOf(gateway);
    const filter = { gatewayId: gateway.id, status: query.status, subject: query.subject };
    return answerPage(ctx, { path, query }, ctx.reach, (page) => listGatewaySessions(db, scope, filter, page, now()));
  }),

  // A mutation although it only reads: tRPC would put a query's token into the URL, and so into logs.
  introspect: endpoint(contract.introspectGatewaySession).mutation(({ ctx, input }) =>
    introspectSession(ctx, input.path.gateway_id, input.body.token),
  ),

  get: endpoint(contract.getGatewaySession).query(({ ctx, input }) => requireGatewaySession(ctx, input.path)),

  listGrants: endpoint(contract.listGatewaySessionGrants).query(async ({ ctx, input }) => {
    const session = await requireGatewaySession(ctx, input.path);
    return answerPage(ctx, input, ctx.reach, (page) => pageOfGrants(ctx.services.db, session, page));
  }),

  revoke: conditionalEndpoint(contract.revokeGatewaySession, (ctx, { path }) =>
    requireGatewaySession(ctx, path),
  ).mutation(({ ctx, input }) => revokeSession(ctx, input.path)),
});
