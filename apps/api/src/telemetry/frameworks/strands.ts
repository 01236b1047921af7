import type { Dialect } from '../reading/dialect.ts';

/** The status of a tool's result, with the name that older versions use. */
const STATUSES = ['gen_ai.tool.status', 'tool.status'];

/**
 * Strands Agents (github.com/strands-agents/sdk-typescript, src/telemetry/tracer.ts; github.com/strands-agents/sdk-python,
 * src/strands/telemetry/tracer.py). It writes the service's name as the scope, and as the vendor.
 */
export const strands: Dialect = {
  name: 'strands',
  scopes: ['strands-agents', 'strands.telemetry.tracer'],
  signature: ['gen_ai.event.start_time', 'agent_loop.cycle_id', 'event_loop.cycle_id'],
  ignores: ['gen_ai.system', 'gen_ai.provider.name'],
  operations: {
    invoke_swarm: 'invoke_workflow',
    invoke_graph: 'invoke_workflow',
    execute_node: null,
    'memory.search': null,
    'memory.add': null,
    'memory.inject': null,
    'memory.extract': null,
  },
  content: [
    'system_prompt',
    'gen_ai.agent.input',
    'gen_ai.agent.tools',
    'agent.tools',
    'agent.tool_results',
    'tool.result',
    'content',
    'message',
    'role',
  ],
  safe: [
    'agent_loop.cycle_id',
    'agent_loop.parent_cycle_id',
    'event_loop.cycle_id',
    'event_loop.parent_cycle_id',
    'gen_ai.event.start_time',
    'gen_ai.event.end_time',
    'gen_ai.tool.status',
    'tool.status',
    'gen_ai.agent.node_type',
    'gen_ai.agent.status',
    'memory.parent.trace_id',
    'memory.parent.span_id',
  ],
  alsoReads: [...STATUSES],
  // A tool that waits for a person's answer has no result, and no error. After the answer it runs again.
  wasRejected({ attributes, status }, { errorType }) {
    const hasEnded = STATUSES.some((name) => attributes[name] !== undefined) || status?.code === 'error';
    return !hasEnded && errorType === null;
  },
  // Elsewhere the names of Anthropic's models have a prefix.
  countsOf: (_span, { model }) => (model?.startsWith('claude-') ? 'anthropic' : null),
  refine(_span, facts) {
    // For a group of agents, the name is the kind of cooperation, and the id is the name that the application chose.
    if (facts.operation !== 'invoke_workflow') return;
    facts.workflow ??= facts.agentId;
    facts.agent = null;
    facts.agentId = null;
  },
};
