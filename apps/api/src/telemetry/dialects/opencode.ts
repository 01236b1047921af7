import type { AttributeValue } from '../otlp/span.ts';
import type { Dialect } from './dialect.ts';
import { readInside } from './inside.ts';
import { exceptionTypeIn } from './rejections.ts';
import { vercelAi } from './vercel-ai.ts';

/**
 * opencode (github.com/anomalyco/opencode, packages/opencode/src/session) with `experimental.openTelemetry`. It calls models with
 * the AI SDK, whose function id is not an agent here. A tool call has a span of opencode and one of the AI SDK. The tools of
 * an MCP server are written as `<server>_<tool>`.
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
    // Written before each call of a model. Only this names the agent that a person speaks to. It counts once for a session.
    stream: {
      operation: 'invoke_agent',
      attributes: { agent: ['body#agent'], callId: ['body#session.id'] },
      isCommonName: true,
      counts: ({ attributes: { body } }) => isOfPerson(body),
    },
  },
  wasRejected: (span) => REJECTION.test(exceptionTypeIn(span) ?? ''),
  uses(span, facts, usual) {
    const subagent = facts.agent;
    if (facts.operation !== 'execute_tool' || subagent === null) return vercelAi.uses?.(span, facts, usual) ?? usual;
    // The tool `task` runs a subagent. It is called by the enclosing agent, not by the subagent.
    facts.agent = null;
    return [...usual, { kind: 'agent', name: subagent }];
  },
};

/** The errors of a tool that the user or a rule rejects. */
const REJECTION = /^Permission(?:Corrected|Denied|Rejected)Error$/;

/** Subagents are counted by the tool that runs them. Agents of opencode's own, such as the one that writes titles, are "small". */
function isOfPerson(data: AttributeValue | undefined): boolean {
  return readInside(data, ['mode']) === 'primary' && readInside(data, ['small']) === 'false';
}
