import * as contract from '@quartermaster/contracts/provider-credentials.ts';
import { endpoint, router } from '../trpc.ts';
import { deleteCredential, putCredential } from './service.ts';

export const providerCredentialsRouter = router({
  put: endpoint(contract.putProviderCredential).mutation(({ ctx, input }) =>
    putCredential(ctx, input.path.provider_id, input.body),
  ),

  delete: endpoint(contract.deleteProviderCredential).mutation(({ ctx, input }) =>
    deleteCredential(ctx, input.path.provider_id),
  ),
});
