import type { Dialect } from '../reading/dialect.ts';
import type { Use } from '../reading/facts.ts';
import { openinference } from './openinference.ts';
import { isRejectedByOpenAiAgents } from '../reading/rejections.ts';
import { addServerTools, serverToolsIn } from '../reading/server-tools.ts';

/**
 * OpenAI Agents SDK with OpenInference's instrumentation (github.com/Arize-ai/openinference,
 * js/packages/openinference-instrumentation-openai-agents and python/instrumentation/openinference-instrumentation-openai-agents).
 * It writes OpenInference, with the agent's name as the id of a graph's node, and a handoff as a tool.
 */
export const openaiAgents: Dialect = {
  ...openinference,
  name: 'openai-agents',
  scopes: ['@arizeai/openinference-instrumentation-openai-agents', 'openinference.instrumentation.openai_agents'],
  signature: [],
  attributes: { ...openinference.attributes, agent: ['graph.node.id'] },
  alsoReads: ['output.value'],
  wasRejected: isRejectedByOpenAiAgents,
  refine({ name }, facts) {
    // A handoff looks like a tool, but function names have no spaces. The agent that takes over has its own span.
    if (name.startsWith('handoff to ') && facts.operation === 'execute_tool') {
      Object.assign(facts, { operation: 'handoff', tool: null });
    }
    // Listing an MCP server's tools is written as a tool span without a tool.
    if (facts.operation === 'execute_tool' && facts.tool === null) facts.operation = null;
  },
  uses(span, facts, usual) {
    const output = span.attributes['output.value'];
    if (facts.operation !== 'chat' || typeof output !== 'string') return usual;
    const read = serverToolsIn(output);
    if (read.length > 0) {
      facts.tool = read[0] ?? null;
      return addServerTools(facts, usual, read);
    }
    const calls = output.slice(0, MAX_OUTPUT).matchAll(VENDOR_TOOL_CALL);
    const tools = Array.from(calls, ([, kind = '']): Use => ({ kind: 'tool', name: kind }));
    if (tools.length === 0) return usual;
    facts.tool = tools[0]?.name ?? null;
    facts.toolRunsAt = 'vendor';
    return [...usual, ...tools];
  },
};

/**
 * A call of a tool that OpenAI runs, among the output items of a response that is too long to be parsed. Such calls have no span.
 * The answer's text cannot match, because quotes inside a JSON string are escaped.
 */
const VENDOR_TOOL_CALL = /"type":\s?"(web_search|file_search|code_interpreter|image_generation)_call"/g;

/** Only this many characters of an output are searched. */
const MAX_OUTPUT = 1024 * 1024;
