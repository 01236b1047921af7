import type { Dialect } from '../reading/dialect.ts';
import { openlit } from './openlit.ts';

/**
 * OpenLIT's instrumentation of the Claude Agent SDK (github.com/openlit/openlit, instrumentation/claude-agent-sdk). It writes a
 * subagent, and any task in the background, as an agent that is named by the task's description or by a random id.
 */
export const openlitClaudeAgentSdk: Dialect = {
  ...openlit,
  name: 'openlit-claude-agent-sdk',
  scopes: [/^(?:@openlit\/instrumentation-|openlit\.(?:\w+\.)*)claude[-_]agent[-_]sdk$/],
  signature: [],
  content: [...(openlit.content ?? []), 'gen_ai.agent.name'],
  contentInSpanNames: /(?<=^invoke_agent) .*/s,
  refine(span, facts) {
    openlit.refine?.(span, facts);
    const isTask = facts.operation === 'invoke_agent' && facts.serverAddress === null;
    if (isTask) facts.agent = null;
  },
};
