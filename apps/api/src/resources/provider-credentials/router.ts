import * as contract from '@quartermaster/contracts/provider-credentials.ts';
import { conditionalEndpoint, router } from '../../http/trpc.ts';
import { deleteCredential, findCredential, putCredential } from './service.ts';

export const providerCredentialsRouter = router({
  put: conditionalEndpoint(contract.putProviderCredential, (ctx, { path, body }) =>
    findCredential(ctx, path.provider_id, body.standby ? 'standby' : 'current'),
  ).mutation(({ ctx, input }) => putCredential(ctx, input.path.provider_id, input.body)),

  delete: conditionalEndpoint(contract.deleteProviderCredential, (ctx, { path }) =>
    findCredential(ctx, path.provider_id, 'current'),
  ).mutation(({ ctx, input }) => deleteCredential(ctx, input.path.provider_id)),
});
