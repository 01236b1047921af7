import { covers, scopeOf } from '@quartermaster/db/tenancy.ts';
import { type DenyingManifest, denialInWords, wasDeniedByManifest } from '../declarations/manifest-denials.ts';
import { withItemAllowed } from '../declarations/manifest-entry.ts';
import { isRejectedAgain, type Rule, type SubjectState } from './rule.ts';

/**
 * Proposed when gateways deny an available item because of their manifest. Superseded when the manifest allows it, is published again
 * or is no longer used by a gateway that denied it, when the item is no longer available, or when a person rejects or ignores it.
 * Applied, a new version of the manifest has one entry more, and the gateways that used the former version use the new one. If several
 * manifests deny it, they are proposed one after the other, by their names.
 */
export const allowInManifest: Rule<SubjectState> = {
  kind: 'allow_in_manifest',
  evaluate(state) {
    const { provider, kind, name, deciding, observations } = state;
    if (provider.status === 'deleted' || deciding?.status !== 'available') return null;
    const denied = observations.filter(
      (one) =>
        wasDeniedByManifest(one) && (one.status === 'approved' || (one.status === 'open' && !isRejectedAgain(one))),
    );
    const [first] = denied.length === 0 ? [] : repairable(state);
    if (first === undefined) return null;
    const { entry } = first;
    const { subTenantId, kind: manifestKind, name: manifestName } = first.manifest;
    // Without the version, because other recommendations publish versions of the same manifest.
    const manifest = { subTenantId, kind: manifestKind, name: manifestName };
    const approvals = denied.flatMap(({ status, review }) =>
      status === 'approved' && review ? review.reviewedAt : [],
    );
    return {
      reason: `The ${kind} ${name} at ${provider.name} is available, but ${denialInWords(provider, first)} does not allow it.`,
      cause: [approvals.toSorted().at(-1) ?? 'denied', manifestKind, manifestName].join(' '),
      observations: denied,
      change: {
        target: { type: 'manifest', id: null },
        before: { kind, name, manifest, entry: null },
        after: { kind, name, manifest, entry },
      },
    };
  },
};

/**
 * The manifests that can get an entry. Of a superseded version no next version can be made, because it would take back what the active one
 * changed. A provider of a sub-tenant changes no manifest and no gateway of the whole tenant.
 */
function repairable({ provider, kind, name, denying }: SubjectState) {
  const scope = scopeOf(provider);
  return denying.flatMap(({ manifest, gateways: all }: DenyingManifest) => {
    const gateways = all.filter((gateway) => covers(scope, gateway));
    if (manifest.status !== 'active' || gateways.length === 0 || !covers(scope, manifest)) return [];
    const widened = withItemAllowed(manifest, { providerId: provider.id, kind, name });
    return widened === null ? [] : [{ manifest, gateways, entry: widened.entry }];
  });
}
