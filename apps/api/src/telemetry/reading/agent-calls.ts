import type { Attributes } from '../otlp/span.ts';
import type { Facts } from './facts.ts';
import { DELEGATE } from './operations.ts';

const A2A_METHOD = 'a2a.method.name';
const TRANSFER_TARGET = 'gen_ai.transfer.target.name';
const TRANSFER_MODE = 'gen_ai.transfer.mode';

/** The attributes that this file reads. */
export const AGENT_CALL_NAMES: readonly string[] = [A2A_METHOD, TRANSFER_TARGET, TRANSFER_MODE];

/** The methods of A2A that call an agent. The others ask for tasks, or manage them. */
const MESSAGE_METHODS: readonly unknown[] = ['SendMessage', 'SendStreamingMessage'];

/**
 * Reads the two ways in which an agent calls another one (github.com/open-telemetry/semantic-conventions-genai,
 * docs/gen-ai/a2a.md, docs/gen-ai/non-normative/examples-agent-interactions.md). A span of A2A has no operation. A tool that
 * transfers to an agent has the operation of a tool. A tool of an MCP server is a tool.
 */
export function readAgentCall(attributes: Attributes, facts: Facts): void {
  if (facts.operation === null && facts.agent !== null && MESSAGE_METHODS.includes(attributes[A2A_METHOD])) {
    facts.operation = 'invoke_agent';
  }
  const isOwnTool = facts.tool !== null && facts.toolServer === null && facts.mcpMethod === null;
  if (!isOwnTool || facts.operation !== 'execute_tool' || attributes[TRANSFER_TARGET] === undefined) return;
  if (attributes[TRANSFER_MODE] === 'pass_control') Object.assign(facts, { tool: null, operation: 'handoff' });
  else facts.operation = DELEGATE;
}
