import * as contract from '@quartermaster/contracts/manifests.ts';
import { listManifests } from '@quartermaster/db/repositories/manifests.ts';
import { scopeOfQuery } from '../../auth/places.ts';
import { answerPage } from '../../http/cursors.ts';
import { conditionalEndpoint, endpoint, router } from '../../http/trpc.ts';
import { manifestSchema } from './schema.ts';
import { createManifest, deleteManifest, requireManifest } from './service.ts';

export const manifestsRouter = router({
  create: endpoint(contract.createManifest).mutation(({ ctx, input }) => createManifest(ctx, input.body)),

  list: endpoint(contract.listManifests).query(({ ctx, input }) => {
    const scope = scopeOfQuery(ctx, input.query);
    return answerPage(ctx, input, scope, (page) => listManifests(ctx.services.db, scope, input.query, page));
  }),

  schema: endpoint(contract.getManifestSchema).query(({ ctx, input }) =>
    manifestSchema(ctx.services.publicUrl, input.path.kind),
  ),

  get: endpoint(contract.getManifest).query(({ ctx, input }) =>
    requireManifest(ctx, ctx.services.db, input.path.manifest_id),
  ),

  delete: conditionalEndpoint(contract.deleteManifest, (ctx, { path }) =>
    requireManifest(ctx, ctx.services.db, path.manifest_id),
  ).mutation(({ ctx, input }) => deleteManifest(ctx, input.path.manifest_id)),
});
