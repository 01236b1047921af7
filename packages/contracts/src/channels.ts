import { z } from 'zod';
import { TimestampSchema, tenancyFields, tenancyQueryFields } from './fields.ts';
import { manifestRecord, ManifestSchema } from './manifests.ts';
import { operation } from './operation.ts';
import { page, pageFields } from './pages.ts';

export const ChannelStateSchema = z.enum(['declared_and_seen', 'declared_and_silent', 'seen_and_undeclared']).meta({
  id: 'ChannelState',
  description:
    '`declared_and_seen`: the manifest of the agent lists the channel, and a run of the agent named it. `declared_and_silent`: the manifest lists it, and no run named it. `seen_and_undeclared`: a run named it, and no manifest lists it.',
});
export type ChannelState = z.infer<typeof ChannelStateSchema>;

const channelFields = {
  channel: z.string().describe('The name of the channel, in lower case: `slack`, `email`, `webchat`.'),
  state: ChannelStateSchema,
  firstSeenAt: TimestampSchema.nullable().describe(
    'When the first run that names the channel was received. Null if there was none.',
  ),
  lastSeenAt: TimestampSchema.nullable().describe(
    'When the last run that names the channel was received, to the hour: a later run within an hour may leave it unchanged. Null if there was none.',
  ),
};

/** A channel in the record of its agent. */
export const ChannelOfAgentSchema = z
  .strictObject(channelFields)
  .meta({ id: 'ChannelOfAgent', description: 'A channel in which people talk to an agent.' });
export type ChannelOfAgent = z.infer<typeof ChannelOfAgentSchema>;

export const AgentChannelSchema = z
  .strictObject({
    ...tenancyFields,
    agent: z.string().describe('The name of the agent.'),
    ...channelFields,
    manifestId: z
      .string()
      .nullable()
      .describe(
        "The id of the agent's active manifest, whether it lists the channel or not. Null if there is none, if it lists no channels, or if you may not read it.",
      ),
  })
  .meta({ id: 'AgentChannel', description: 'A channel in which people talk to an agent: declared, seen, or both.' });
export type AgentChannel = z.infer<typeof AgentChannelSchema>;

export const listChannels = operation({
  method: 'GET',
  path: '/v1/channels',
  operationId: 'list_channels',
  scope: 'runtime_observations:read',
  tag: 'Agents',
  summary: 'List the channels of agents',
  description:
    'Lists where people talk to agents: the channels that active manifests of agents declare, and those that runs of agents named. The list is sorted by tenant, sub-tenant, agent and channel. What a manifest of the whole tenant declares is listed for the agent of the whole tenant, and for each agent of this name in a sub-tenant that was seen in a channel and has no declared channels of its own. A channel is seen only if an attribute of a run says so, and is forgotten after the days that the tenant keeps usage. The query takes a point of the rate limit for every 1,000 channels that it reads. 422 if there are more than 10,000 seen channels, or 2,000 manifests that declare channels; filter by tenant or agent then.',
  query: {
    ...tenancyQueryFields,
    agent: z.string().min(1).max(1000).nullish().describe('Only channels of agents with exactly this name.'),
    state: ChannelStateSchema.nullish().describe('Only channels with this state.'),
    ...pageFields,
  },
  output: page('AgentChannelPage', AgentChannelSchema),
});

export const declareAgentChannel = operation({
  method: 'POST',
  path: '/v1/agents/{agent_id}/channels/{channel}/declare',
  operationId: 'declare_agent_channel',
  scope: 'manifests:write',
  tag: 'Agents',
  summary: 'Declare a channel of an agent',
  description:
    "Adds a channel that runs of the agent named to the manifest of the agent: publishes a new version with one channel more, which the gateways that use the former version use as well. It changes nothing that agents may use. It is the manifest that `list_channels` compares with: that of the agent's own place, or else that of the whole tenant. Idempotent: a channel that the manifest lists changes nothing. 404 `channel_not_found` if no run named the channel; 404 `manifest_not_found` if the agent has no manifest in your reach. To take it back, publish the manifest without the channel.",
  params: {
    agent_id: z.string().min(1).max(2000).describe("The agent's id."),
    channel: z.string().min(1).max(64).describe('The name of the channel, as `list_channels` shows it.'),
  },
  record: manifestRecord,
  output: ManifestSchema,
  errors: ['agent_not_found', 'channel_not_found', 'manifest_not_found', 'tenant_limit_reached'],
});
