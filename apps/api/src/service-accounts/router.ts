import * as contract from '@quartermaster/contracts/service-accounts.ts';
import { searchServiceAccounts } from '@quartermaster/db/repositories/service-accounts.ts';
import { scopeOfQuery, scopeOfSearch } from '../access/places.ts';
import { answerPage } from '../pages.ts';
import { endpoint, router } from '../trpc.ts';
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

  get: endpoint(contract.getServiceAccount).query(({ ctx, input: { path, query } }) =>
    requireServiceAccount(ctx.services.db, scopeOfQuery(ctx, query), path.service_account_id, ctx.services.now()),
  ),

  update: endpoint(contract.updateServiceAccount).mutation(({ ctx, input: { path, query, body } }) =>
    changeServiceAccount(ctx, path.service_account_id, query, body),
  ),

  delete: endpoint(contract.deleteServiceAccount).mutation(({ ctx, input: { path, query } }) =>
    setServiceAccountStatus(ctx, path.service_account_id, query, 'deleted'),
  ),

  disable: endpoint(contract.disableServiceAccount).mutation(({ ctx, input: { path, query } }) =>
    setServiceAccountStatus(ctx, path.service_account_id, query, 'disabled'),
  ),

  enable: endpoint(contract.enableServiceAccount).mutation(({ ctx, input: { path, query } }) =>
    setServiceAccountStatus(ctx, path.service_account_id, query, 'active'),
  ),
});
