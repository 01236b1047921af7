import * as contract from '@quartermaster/contracts/service-accounts.ts';
import { searchServiceAccounts } from '@quartermaster/db/repositories/service-accounts.ts';
import { scopeOfQuery, scopeOfSearch, type TenancyQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import type { CallerContext } from '../../auth/context.ts';
import {
  changeServiceAccount,
  createServiceAccount,
  requireServiceAccount,
  setServiceAccountStatus,
} from './service.ts';

export const serviceAccountsRouter = router({
  create: endpoint(contract.createServiceAccount).mutation(({ ctx, input }) => createServiceAccount(ctx, input.body)),

  search: endpoint(contract.searchServiceAccounts).mutation(({ ctx, input }) => {
    const { db, now } = ctx.services;
    const scope = scopeOfSearch(ctx, input.body);
    return answerPage(ctx, input, scope, (page) => searchServiceAccounts(db, scope, input.body, page, now()));
  }),

  get: endpoint(contract.getServiceAccount).query(({ ctx, input }) => current(ctx, input)),

  update: conditionalEndpoint(contract.updateServiceAccount, current).mutation(
    ({ ctx, input: { path, query, body } }) => changeServiceAccount(ctx, path.service_account_id, query, body),
  ),

  delete: conditionalEndpoint(contract.deleteServiceAccount, current).mutation(({ ctx, input: { path, query } }) =>
    setServiceAccountStatus(ctx, path.service_account_id, query, 'deleted'),
  ),

  disable: conditionalEndpoint(contract.disableServiceAccount, current).mutation(({ ctx, input: { path, query } }) =>
    setServiceAccountStatus(ctx, path.service_account_id, query, 'disabled'),
  ),

  enable: conditionalEndpoint(contract.enableServiceAccount, current).mutation(({ ctx, input: { path, query } }) =>
    setServiceAccountStatus(ctx, path.service_account_id, query, 'active'),
  ),
});

type Input = { path: { service_account_id: string }; query: TenancyQuery };

function current(ctx: CallerContext, { path, query }: Input) {
  const { db, now } = ctx.services;
  return requireServiceAccount(db, scopeOfQuery(ctx, query), path.service_account_id, now());
}
