import * as contract from '@quartermaster/contracts/provider-credentials.ts';
import { conditionalEndpoint, router } from '../../http/trpc.ts';
import { headerSlot } from '@quartermaster/db/repositories/provider-secrets.ts';
import { deleteCredential, deleteSecretHeader, findCredential, putCredential, putSecretHeader } from './service.ts';

export const providerCredentialsRouter = router({
  put: conditionalEndpoint(contract.putProviderCredential, (ctx, { path, body }) =>
    findCredential(ctx, path.provider_id, body.standby ? 'standby' : 'current'),
  ).mutation(({ ctx, input }) => putCredential(ctx, input.path.provider_id, input.body)),

  delete: conditionalEndpoint(contract.deleteProviderCredential, (ctx, { path }) =>
    findCredential(ctx, path.provider_id, 'current'),
  ).mutation(({ ctx, input }) => deleteCredential(ctx, input.path.provider_id)),

  putHeader: conditionalEndpoint(contract.putProviderSecretHeader, (ctx, { path }) =>
    findCredential(ctx, path.provider_id, headerSlot(path.header_name)),
  ).mutation(({ ctx, input: { path, body } }) =>
    putSecretHeader(ctx, { providerId: path.provider_id, header: path.header_name }, body),
  ),

  deleteHeader: conditionalEndpoint(contract.deleteProviderSecretHeader, (ctx, { path }) =>
    findCredential(ctx, path.provider_id, headerSlot(path.header_name)),
  ).mutation(({ ctx, input: { path } }) =>
    deleteSecretHeader(ctx, { providerId: path.provider_id, header: path.header_name }),
  ),
});
