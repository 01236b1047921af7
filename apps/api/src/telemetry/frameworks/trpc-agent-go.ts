import type { Dialect } from '../reading/dialect.ts';

/**
 * tRPC-Agent-Go (github.com/trpc-group/trpc-agent-go, internal/telemetry/trace.go). It writes OpenTelemetry GenAI. Each node of a
 * graph is a workflow. The agent that runs the graph has its own span.
 */
export const trpcAgentGo: Dialect = {
  name: 'trpc-agent-go',
  scopes: ['trpc.agent.go'],
  readsAlone: true,
  ignores: ['gen_ai.workflow.name'],
  operations: { workflow: null },
  content: ['trpc.go.agent', 'gen_ai.workflow.request', 'gen_ai.workflow.response'],
};
