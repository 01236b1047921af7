import { MAX_AGENT_CHANNELS, ManifestSpecInputSchema } from '@quartermaster/contracts/manifest-specs.ts';
import type { Manifest } from '@quartermaster/contracts/manifests.ts';
import type { Database } from '@quartermaster/db/database.ts';
import { findChannelsOfAgents } from '@quartermaster/db/repositories/agent-channels.ts';
import { findActiveManifest } from '@quartermaster/db/repositories/manifests.ts';
import { covers } from '@quartermaster/db/tenancy.ts';
import type { CallerContext } from '../../auth/context.ts';
import { principalName } from '../../auth/principal.ts';
import { replaceVersion } from '../../governance/declarations/manifest-versions.ts';
import { auditedWrite } from '../../platform/audit/audited-write.ts';
import { ApiError, notFound, valueError } from '../../platform/errors.ts';
import { type AgentName, agentOfId } from './known-agents.ts';

/**
 * Adds a channel that runs of an agent named to the manifest of the agent. Telemetry alone declares nothing: this call is the review.
 *
 * @throws 404, or 422 if the manifest has no room
 */
export async function declareChannel(ctx: CallerContext, agentId: string, channel: string): Promise<Manifest> {
  const agent = agentOfId(agentId);
  if (agent === null || !covers(ctx.reach, agent)) throw notFound('agent_not_found');
  return auditedWrite(ctx, async (trx, record, now) => {
    const seen = await findChannelsOfAgents(trx, agent, [agent.name]);
    if (!seen.some((one) => one.channel === channel)) throw notFound('channel_not_found');
    const manifest = await findManifestOf(trx, agent);
    if (!manifest || !covers(ctx.reach, manifest)) {
      throw new ApiError('manifest_not_found', 'The agent has no manifest in your reach. Publish one first.');
    }
    const channels = manifest.spec.channels ?? [];
    if (channels.includes(channel)) return manifest;
    const spec = { ...manifest.spec, channels: [...channels, channel] };
    if (!ManifestSpecInputSchema.safeParse(spec).success) {
      const message = `the manifest has no room for it: a manifest has at most ${MAX_AGENT_CHANNELS} channels and 256 KiB`;
      throw valueError(['path', 'channel'], message, channel);
    }
    const { tenantLimits } = ctx.services;
    const createdBy = principalName(ctx.principal);
    const replacing = { spec, gatewayScope: ctx.reach, createdBy, tenantLimits, record };
    return (await replaceVersion(trx, manifest, replacing, now)).manifest;
  });
}

/** The manifest whose channels count for the agent: one that lists some, first of its own place, then of the whole tenant. */
async function findManifestOf(
  trx: Database,
  { tenantId, subTenantId, name }: AgentName,
): Promise<Manifest | undefined> {
  const own = await findActiveManifest(trx, { tenantId, subTenantId }, { kind: 'agent', name });
  if (subTenantId === null || (own?.spec.channels ?? []).length > 0) return own;
  const ofTenant = await findActiveManifest(trx, { tenantId, subTenantId: null }, { kind: 'agent', name });
  return (ofTenant?.spec.channels ?? []).length > 0 ? ofTenant : (own ?? ofTenant);
}
