import * as contract from '@quartermaster/contracts/service-account-keys.ts';
import { searchCredentials } from '@quartermaster/db/repositories/credentials.ts';
import { scopeOf } from '@quartermaster/db/tenancy.ts';
import { scopeOfQuery, type TenancyQuery } from '../../auth/places.ts';
import { noteReads } from '../../platform/audit/reads.ts';
import { answerPage } from '../../http/cursors.ts';
import { requireServiceAccount } from '../service-accounts/service.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import { createKey, requireKey, revokeKey, rotateKey } from './service.ts';

export const serviceAccountKeysRouter = router({
  create: endpoint(contract.createServiceAccountKey).mutation(({ ctx, input: { path, query, body } }) =>
    createKey(ctx, path.service_account_id, query, body),
  ),

  list: endpoint(contract.listServiceAccountKeys).query(async ({ ctx, input }) => {
    const { db, now } = ctx.services;
    const { path, query } = input;
    const account = await requireServiceAccount(db, scopeOfQuery(ctx, query), path.service_account_id, now());
    const scope = scopeOf(account);
    const filter = { kind: 'api_key' as const, ownerId: account.id, status: query.status };
    return answerPage(ctx, input, scope, async (page) => {
      const keys = await searchCredentials(db, scope, filter, page, now());
      await noteReads(ctx, keys.items, { type: 'service_account', id: account.id });
      return keys;
    });
  }),

  rotate: conditionalEndpoint(contract.rotateServiceAccountKey, current).mutation(
    ({ ctx, input: { path, query, body } }) => rotateKey(ctx, path, query, body),
  ),

  revoke: conditionalEndpoint(contract.revokeServiceAccountKey, current).mutation(({ ctx, input: { path, query } }) =>
    revokeKey(ctx, path, query),
  ),
});

type Input = { path: { service_account_id: string; key_id: string }; query: TenancyQuery };

function current(ctx: CallerContext, { path, query }: Input) {
  return requireKey(ctx, ctx.services.db, path, query);
}
