import type { Dialect } from '../reading/dialect.ts';

/**
 * OpenClaw (github.com/openclaw/openclaw, extensions/diagnostics-otel). The spans of a run name its agent and its model. Each
 * request to a model has a span of its own. `openclaw.model.usage` has the sum of their tokens.
 */
export const openclaw: Dialect = {
  name: 'openclaw',
  scopes: ['openclaw'],
  signature: ['openclaw.*'],
  attributes: { agent: ['gen_ai.agent.name', 'openclaw.agent'] },
  spanNames: [{ pattern: /^openclaw\.(?:harness\.)?run$/, operation: 'invoke_agent' }],
  content: ['openclaw.content', 'openclaw.error', 'openclaw.phase.detail'],
  safe: [
    'openclaw.channel',
    'openclaw.agent',
    'openclaw.provider',
    'openclaw.model',
    'openclaw.api',
    'openclaw.transport',
    'openclaw.outcome',
    'openclaw.toolName',
    'openclaw.tool.source',
    'openclaw.tool.owner',
    'openclaw.harness.id',
    'openclaw.errorCategory',
  ],
  alsoReads: ['openclaw.tool.source', 'openclaw.tool.owner'],
  // The owner of other tools is a plugin.
  refine({ attributes }, facts) {
    const { 'openclaw.tool.source': source, 'openclaw.tool.owner': owner } = attributes;
    if (source === 'mcp' && typeof owner === 'string') facts.toolServer = owner;
  },
  // A tool that a policy refused did not run.
  ignored: { name: /^openclaw\.model\.usage$/, attributes: { 'openclaw.outcome': /^blocked$/ } },
};
