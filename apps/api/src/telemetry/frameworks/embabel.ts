import type { Dialect } from '../reading/dialect.ts';

/**
 * Embabel (github.com/embabel/embabel-agent, embabel-agent-observability/src/main/java/com/embabel/agent/observability). Spring AI
 * writes the span of a model call. Embabel writes one with its tokens beside it, and one around all calls of a tool loop. A tool call
 * has a span called `tool call`, and another one beside it. All have one scope. With the type of the event as the instrumentation,
 * the two spans of a call are paired.
 */
export const embabel: Dialect = {
  name: 'embabel',
  signature: ['embabel.event.type'],
  instrumentation: 'embabel.event.type',
  attributes: {
    model: ['gen_ai.request.model', 'embabel.llm.model'],
    tool: ['gen_ai.tool.name', 'embabel.tool.name'],
    agent: ['embabel.agent.name'],
    errorType: ['embabel.tool.error.type'],
  },
  operations: {
    agent: 'invoke_agent',
    dynamic_agent_creation: 'create_agent',
  },
  content: [
    'embabel.action.result',
    'embabel.agent.result',
    'embabel.dynamic_agent.basis',
    'embabel.goal.result',
    'embabel.rag.query',
    'embabel.replan.reason',
    'embabel.tool.error.message',
    'embabel.tracked.args',
    'embabel.tracked.description',
    'embabel.tracked.result',
    'gen_ai.tool.description',
    'input.value',
    'output.value',
  ],
  safe: [
    'embabel.event.type',
    'embabel.action.name',
    'embabel.action.short_name',
    'embabel.action.status',
    'embabel.agent.planner_type',
    'embabel.agent.status',
    'embabel.goal.name',
    'embabel.interaction.id',
    'embabel.parent.id',
    'embabel.run.id',
    'embabel.tool.group.name',
    'embabel.tool.group.role',
    'embabel.tool.status',
  ],
  refine({ attributes }, facts) {
    // The span around all calls of a tool loop.
    if (attributes['embabel.event.type'] === 'llm_call') facts.model = null;
  },
};
