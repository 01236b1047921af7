import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import { firstCount } from '../reading/fact-slots.ts';
import { addUncountedReasoning } from '../reading/reasoning-tokens.ts';

const TYPE = 'n8n.node.type';
const TOTAL = 'n8n.node.custom.llm.tokens.total';
const ESTIMATED = 'n8n.node.custom.llm.tokens.estimated';

/**
 * n8n (github.com/n8n-io/n8n, packages/cli/src/modules/otel). It writes a span for each run of a node. The node of a model adds its
 * model and its tokens, the nodes of agents and tools have only their type and their name.
 */
export const n8n: Dialect = {
  name: 'n8n',
  scopes: ['n8n-workflow', 'n8n-otel'],
  attributes: {
    model: ['n8n.node.custom.llm.model.id'],
    vendor: ['n8n.node.custom.llm.model.provider'],
    inputTokens: ['n8n.node.custom.llm.tokens.in'],
    outputTokens: ['n8n.node.custom.llm.tokens.out'],
    reasoningTokens: ['n8n.node.custom.llm.tokens.reasoning'],
    agent: ['n8n.node.name'],
    tool: ['n8n.node.name'],
  },
  safe: [
    TYPE,
    'n8n.node.id',
    'n8n.workflow.id',
    'n8n.workflow.version_id',
    'n8n.workflow.name',
    'n8n.execution.id',
    'n8n.execution.mode',
    'n8n.execution.status',
    'n8n.execution.error_type',
    'n8n.instance.role',
  ],
  alsoReads: [TYPE, TOTAL, ESTIMATED],
  refine({ attributes }, facts) {
    const type = asText(attributes[TYPE]).replace(/^.*\./, '');
    if (facts.model !== null) facts.operation = 'chat';
    else if (AGENT.test(type)) facts.operation = 'invoke_agent';
    else if (TOOL.test(type)) facts.operation = 'execute_tool';
    if (facts.operation !== 'invoke_agent') facts.agent = null;
    // The model sees a node by this name.
    facts.tool = facts.operation === 'execute_tool' ? (facts.tool?.replaceAll(/[^\w-]+/g, '_') ?? null) : null;
    if (asText(attributes[ESTIMATED]) === 'true') Object.assign(facts, { inputTokens: null, outputTokens: null });
    addUncountedReasoning(facts, { reasoning: facts.reasoningTokens ?? 0, total: firstCount(attributes, [TOTAL]) });
  },
};

const AGENT = /^agent(?:Tool)?$/;

/** Tools, and other nodes that are used as tools: `gmailTool`. The node of an MCP client does not say which tool it calls. */
const TOOL = /^(?:tool[A-Z]\w*|(?!mcpClient)\w+Tool)$/;
