import type { Dialect, ReadSource } from '../reading/dialect.ts';
import type { Facts, Use } from '../reading/facts.ts';

const MCP_SERVER = 'gen_ai.mcp.server';

/** Attributes of guardrails and of the program's own spans. */
const OF_NO_AGENT = ['gen_ai.guardrail.triggered', 'gen_ai.custom.data'];

/** OpenLIT (github.com/openlit/openlit, sdk/typescript/src and sdk/python/src/openlit, semantic_convention). */
export const openlit: Dialect = {
  name: 'openlit',
  scopes: [/^@openlit\/(?!instrumentation-claude-agent-sdk$)/, /^openlit(?:$|\.(?!(?:\w+\.)*claude[-_]agent[-_]sdk$))/],
  signature: ['openlit.*', 'gen_ai.request.is_stream'],
  attributes: { mcpMethod: ['mcp.method.name', 'mcp.operation.name', 'mcp.method'] },
  operations: { framework: null, vectordb: null, workflow: null, graph: null, agent: 'invoke_agent' },
  wrappers: ['framework', 'workflow', 'graph', 'agent'],
  content: [
    'gen_ai.tool.args',
    'gen_ai.tool.input',
    'gen_ai.tool.output',
    'gen_ai.content',
    'gen_ai.request.user',
    'gen_ai.agent.description',
    'gen_ai.agent.goal',
    'gen_ai.agent.instructions',
    'gen_ai.agent.task',
    'gen_ai.custom.data',
    'gen_ai.framework.query',
    'db.statement',
    'db.documents',
    'db.metadata',
    'db.filter',
  ],
  safe: ['gen_ai.sdk.version', 'openai.api.type', 'openai.response.service_tier', 'openlit.agent.version_hash'],
  alsoReads: [MCP_SERVER, ...OF_NO_AGENT],
  countsOf({ scope: { name } }) {
    if (name === '@openlit/instrumentation-google-ai') return 'gcp.gemini';
    return /instrumentation-(?:anthropic|bedrock)$/.test(name) ? 'anthropic' : null;
  },
  refine(span, facts) {
    if (/instrumentation[-.]openai[-_]agents$/.test(span.scope.name)) readOtherSpanOfOpenAiAgents(span, facts);
    // The span of a runner, around that of its agent, has the name of the framework.
    if (facts.agent === 'google_adk' && /instrumentation[-.]google[-_]adk$/.test(span.scope.name)) facts.agent = null;
    // The instrumentation of MCP for Python writes `tools_call` for `tools/call`.
    facts.mcpMethod = facts.mcpMethod?.replace(/^(tools|resources|prompts)_/, '$1/') ?? null;
    // The span of a model call names the tools that the model asked for. They run later, or never.
    if (facts.operation === 'execute_tool' || facts.mcpMethod !== null) return;
    facts.tool = null;
    const response = span.attributes['gen_ai.response.id'];
    facts.callId = typeof response === 'string' ? response : null;
  },
};

/**
 * The instrumentation of the OpenAI Agents SDK writes guardrails and the program's own spans as agents, and the list of an MCP server's
 * tools as the tool `mcp_list_tools`.
 */
function readOtherSpanOfOpenAiAgents({ attributes }: ReadSource, facts: Facts): void {
  const server = attributes[MCP_SERVER];
  if (facts.tool === 'mcp_list_tools' && typeof server === 'string') {
    Object.assign(facts, { operation: null, tool: null, mcpMethod: 'tools/list', toolServer: server });
  }
  if (OF_NO_AGENT.some((name) => name in attributes)) Object.assign(facts, { operation: null, agent: null });
}

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

const TOOL_NAMES = 'gen_ai.tool.name';

/**
 * OpenLIT's instrumentation of LangChain for JavaScript (github.com/openlit/openlit, sdk/typescript, instrumentation/langchain). The
 * span of a tool has the name of the tool's class. The span of the model has the names of the tools that the model asked for, so they
 * count there.
 */
export const openlitLangchain: Dialect = {
  ...openlit,
  name: 'openlit-langchain',
  scopes: ['@openlit/instrumentation-langchain'],
  signature: [],
  uses({ attributes }, { operation, callId }, usual) {
    if (operation === 'chat') return [...usual, ...namedTools(attributes[TOOL_NAMES])];
    // Without the id of a call, a program ran the tool itself, and no model named it.
    return operation === 'execute_tool' && callId !== null ? [] : usual;
  },
};

/** The tools in a list of names, such as `echo, get-sum, echo`. */
function namedTools(list: unknown): Use[] {
  if (typeof list !== 'string') return [];
  const names = list.split(',').map((name) => name.trim());
  const byName = Map.groupBy(
    names.filter((name) => name !== ''),
    (name) => name,
  );
  return [...byName].map(([name, same]) => ({ kind: 'tool', name, times: same.length }));
}
