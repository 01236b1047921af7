import type { Dialect } from '../reading/dialect.ts';

const SDK_OPERATION = 'cloudflare.agents.operation.name';

/**
 * Cloudflare Agents (`agents` on npm, observability/ai), whose spans Workers export. It writes OpenTelemetry GenAI. A request to
 * approve a tool call, and its answer, are `execute_tool` spans as well.
 */
export const cloudflareAgents: Dialect = {
  name: 'cloudflare-agents',
  signature: ['cloudflare.agents.*'],
  safe: [
    SDK_OPERATION,
    'cloudflare.agents.integration.name',
    'cloudflare.agents.response.finish_reason',
    'cloudflare.agents.tool.approval.state',
  ],
  refine(_span, facts) {
    if (facts.tool !== null) facts.tool = facts.tool.replace(MCP_PREFIX, '');
  },
  ignored: { attributes: { [SDK_OPERATION]: /^tool\.approval$/ } },
};

/**
 * The tools of MCP servers are called `tool_<id of the server>_<tool>`. An id that the application sets is in lower case, and may be
 * the server's name. Any other id is random. `tool_search` is a tool of the application.
 */
const MCP_PREFIX = /^tool_(?:(?=[a-z\d]*[A-Z])\w{6,8}_(?=.)|(?=[a-z]\w*_.))/;
