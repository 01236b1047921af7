import type { Dialect } from '../reading/dialect.ts';
import { isModelCall } from '../reading/operations.ts';

/**
 * Archestra, a gateway for models and MCP servers with agents of its own (github.com/archestra-ai/archestra,
 * platform/backend/src/observability/tracing). The run of an agent has the operation `chat` and no model. A tool call that a policy
 * blocked has a span like one that ran.
 */
export const archestra: Dialect = {
  name: 'archestra',
  scopes: ['archestra'],
  safe: ['route.category', 'archestra.agent.type', 'archestra.run.id', 'archestra.trigger.source'],
  refine(_span, facts) {
    if (isModelCall(facts.operation) && facts.model === null) facts.operation = 'invoke_agent';
  },
  rejected: { attributes: { 'mcp.blocked': /^true$/ } },
};
