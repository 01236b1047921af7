import type { AttributeValue } from '../otlp/span.ts';
import type { Dialect } from '../reading/dialect.ts';
import { readInside } from '../reading/inside.ts';
import type { Use } from '../reading/facts.ts';
import { vercelAi } from './vercel.ts';

/**
 * opencode (github.com/anomalyco/opencode, packages/opencode/src/session) and its fork Kilo Code (github.com/Kilo-Org/kilocode). They
 * call models with the AI SDK, whose function id is not an agent here. With `experimental.openTelemetry` opencode has the spans of the
 * AI SDK, so a tool call has two spans. Kilo Code never has them. The tools of an MCP server are written as `<server>_<tool>`.
 */
export const opencode: Dialect = {
  ...vercelAi,
  name: 'opencode',
  scopes: ['opencode'],
  signature: [],
  attributes: {
    ...vercelAi.attributes,
    agent: ['ai.toolCall.args#subagent_type'],
    tool: ['ai.toolCall.name', 'tool.name'],
    callId: ['ai.toolCall.id', 'tool.call_id', 'ai.response.id'],
    conversationId: ['session.id'],
  },
  spanNames: [{ pattern: /^Tool\.execute$/, operation: 'execute_tool' }],
  agentTools: [
    'apply_patch',
    'bash',
    'batch',
    'codesearch',
    'edit',
    'glob',
    'grep',
    'invalid',
    'list',
    'lsp',
    'multiedit',
    'patch',
    'plan_enter',
    'plan_exit',
    'question',
    'read',
    'skill',
    'task',
    'todoread',
    'todowrite',
    'webfetch',
    'websearch',
    'write',
  ],
  safe: [...(vercelAi.safe ?? []), 'tool.name', 'tool.call_id', 'message.id'],
  logs: {
    // Written before each call of a model, in the span around it. Only this names the agent that a person speaks to.
    stream: {
      operation: 'chat',
      attributes: { vendor: ['body#providerID'], model: ['body#modelID'], agent: ['body#agent'] },
      isCommonName: true,
      counts: ({ attributes: { body } }) => readInside(body, ['modelID']) !== null,
    },
  },
  rejected: { exception: /^Permission(?:Corrected|Denied|Rejected)Error$/ },
  uses(span, facts, usual) {
    const { agent, model, operation } = facts;
    if (span.name === 'stream') return [...usual, ...agentOfPerson(span.attributes['body'], agent)];
    // The log record of a call is in the parent of the AI SDK's outer span, which repeats the call of the span inside.
    if (operation === 'invoke_agent' && model !== null) return [{ kind: 'model', name: model }];
    if (operation !== 'execute_tool' || agent === null) return vercelAi.uses?.(span, facts, usual) ?? usual;
    // The tool `task` runs a subagent. It is called by the enclosing agent, not by the subagent.
    facts.agent = null;
    return [...usual, { kind: 'agent', name: agent }];
  },
};

/**
 * The agent that a person speaks to. It counts once for a session. Subagents are counted by the tool that runs them. Agents of
 * opencode's own, such as the one that writes titles, are "small".
 */
function agentOfPerson(body: AttributeValue | undefined, agent: string | null): Use[] {
  const session = readInside(body, ['session.id']);
  if (readInside(body, ['mode']) !== 'primary' || readInside(body, ['small']) !== 'false') return [];
  return agent === null || typeof session !== 'string' ? [] : [{ kind: 'agent', name: agent, callId: session }];
}
