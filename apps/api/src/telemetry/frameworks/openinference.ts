import { ownMember } from '../../platform/own-member.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect, ReadSource } from '../reading/dialect.ts';
import type { Facts, Use } from '../reading/facts.ts';
import { parsedAttribute, readInside } from '../reading/inside.ts';
import { splitMarked } from '../reading/mcp-name.ts';
import { isInterruptOfLangGraph } from './langchain.ts';
import { addServerTools, serverToolsIn } from '../reading/server-tools.ts';
import { subjectIn, vendorInSpanName } from '../reading/span-subject.ts';
import { splitVendorPrefix } from '../reading/vendor-prefix.ts';
import { correctVendorOfClient, isAgentRun, isNamedInOutput } from './langchain.ts';

/**
 * Dapr Agents (github.com/dapr/dapr-agents, dapr_agents/observability) run as workflows. The span of an activity is of the kind of
 * what the spans inside it report, and names no model or tool.
 */
const ACTIVITY_OF_DAPR = 'workflow.activity';

/** OpenInference (github.com/Arize-ai/openinference, spec/semantic_conventions.md). */
export const openinference: Dialect = {
  name: 'openinference',
  scopes: [/^@arizeai\/openinference-/, /^openinference\.instrumentation\./],
  signature: ['openinference.*', 'llm.model_name', 'llm.request.model_name', 'llm.response.model_name'],
  attributes: {
    operation: ['gen_ai.operation.name', 'openinference.span.kind'],
    // For LangChain, OpenInference writes vendor and agent only into the metadata, and for some of its clients the model too.
    vendor: ['gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.system', 'metadata#ls_provider'],
    model: [
      'gen_ai.request.model',
      'llm.request.model_name',
      'llm.invocation_parameters#model',
      'llm.response.model_name',
      'llm.model_name',
      'embedding.model_name',
      'reranker.model_name',
      'metadata#ls_model_name',
    ],
    responseModel: ['gen_ai.response.model', 'llm.response.model_name'],
    agent: ['gen_ai.agent.name', 'agent.name', 'metadata#lc_agent_name'],
    tool: ['gen_ai.tool.name', 'tool.name'],
    conversationId: ['gen_ai.conversation.id', 'session.id'],
    inputTokens: ['llm.token_count.prompt'],
    outputTokens: ['llm.token_count.completion'],
  },
  operations: {
    llm: 'chat',
    embedding: 'embeddings',
    retriever: 'retrieval',
    tool: 'execute_tool',
    agent: 'invoke_agent',
    chain: null,
    reranker: null,
    guardrail: null,
    evaluator: null,
    prompt: null,
    unknown: null,
  },
  wrappers: ['chain', 'agent', 'guardrail', 'evaluator', 'prompt'],
  content: [
    'input.value',
    'output.value',
    'input.audio',
    'output.audio',
    'llm.*_messages',
    'llm.prompts',
    'llm.choices',
    'llm.function_call',
    'llm.invocation_parameters',
    'llm.prompt_template.template',
    'llm.prompt_template.variables',
    'llm.tools',
    'message.content',
    'message.contents',
    'message.function_call_arguments_json',
    'message.tool_calls',
    'message_content',
    'tool.parameters',
    'tool.json_schema',
    'tool_call.function.arguments',
    'retrieval.documents',
    'document.content',
    'document.metadata',
    'reranker.query',
    'reranker.*_documents',
    'embedding.embeddings',
    'embedding.text',
    'embedding.vector',
    'prompt.text',
    'completion.text',
    'image.url',
    'audio.url',
    'audio.transcript',
    'video.url',
    'annotation.explanation',
    'evaluation.explanation',
    'metadata',
  ],
  safe: ['input.mime_type', 'output.mime_type', 'graph.node.id', 'graph.node.name', 'graph.node.parent_id'],
  alsoReads: [
    ACTIVITY_OF_DAPR,
    'graph.node.id',
    'graph.node.name',
    'input.value',
    'output.value',
    'llm.token_count.total',
    'tool.parameters',
  ],
  refine(span, facts) {
    if (span.attributes[ACTIVITY_OF_DAPR] !== undefined) {
      facts.agent = null;
      return;
    }
    const kind = kindOf(span);
    // LangChain writes the agent's name on every span inside it. The agent's own span is a chain with this name.
    if (kind === 'CHAIN' && facts.agent !== null && facts.agent === span.name) facts.operation = 'invoke_agent';
    if (kind === 'AGENT') readAgentRun(span, facts);
    if (OF_LANGCHAIN.test(span.scope.name)) {
      if (kind === 'CHAIN' && isNamedInOutput(span.name, span.attributes['output.value']))
        Object.assign(facts, { operation: 'invoke_agent', agent: subjectIn(span.name) });
      correctVendorOfClient(facts, ownMember(parsedAttribute(span.attributes['metadata']), 'versions'));
    }
    if (kind === 'TOOL') {
      if (span.attributes['gen_ai.tool.name'] === undefined)
        facts.tool ??= subjectIn(span.name)?.replace(METHOD, '') ?? null;
      if (CLAUDE_AGENT_SDK.test(span.scope.name)) placeToolOfClaudeAgent(facts);
    }
    // LlamaIndex names a span after the client's class, and takes every client that extends OpenAI's for OpenAI.
    if (facts.model !== null && OF_LLAMA_INDEX.test(span.scope.name))
      facts.vendor = vendorInSpanName(span.name) ?? facts.vendor;
    if (span.scope.name === BEDROCK) facts.model = modelOfBedrock(span) ?? facts.model;
    if (WITH_VENDOR_PREFIX.has(span.scope.name)) splitVendorPrefix(facts);
  },
  // The answer of Anthropic's own API has no total.
  countsOf({ scope, attributes }) {
    return scope.name === BEDROCK && attributes['llm.token_count.total'] === undefined ? 'aws.bedrock' : null;
  },
  wasRejected(span) {
    if (!OF_LANGCHAIN.test(span.scope.name)) return false;
    return isInterruptOfLangGraph(span.status?.message);
  },
  uses(span, facts, usual) {
    if (CLAUDE_AGENT_SDK.test(span.scope.name)) return [...usual, ...usesOfClaudeAgent(span, facts)];
    const tools = kindOf(span) === 'LLM' ? serverToolsIn(span.attributes['output.value']) : [];
    return addServerTools(facts, usual, tools);
  },
};

function readAgentRun(span: ReadSource, facts: Facts): void {
  const { name, scope } = span;
  // LangChain's handler calls each run an agent that has "agent" in its name, also a tool.
  if (OF_LANGCHAIN.test(scope.name) && (facts.tool !== null || !isAgentRun(name, facts.agent))) {
    facts.operation = facts.tool === null ? null : 'execute_tool';
    return;
  }
  // The run of a subagent is called like the tool that starts it, which names the subagent.
  if (CLAUDE_AGENT_SDK.test(scope.name) && SUBAGENT_RUN.test(name)) {
    Object.assign(facts, { operation: null, agent: null });
    return;
  }
  facts.agent ??= agentOf(span);
}

/** Its calls of models have no spans: only the span of the query names the model. A subagent is known by the arguments of its tool. */
function usesOfClaudeAgent(span: ReadSource, { model, toolRunsAt }: Facts): Use[] {
  if (kindOf(span) === 'AGENT') return model === null ? [] : [{ kind: 'model', name: model }];
  const subagent = toolRunsAt === 'agent' ? readInside(span.attributes['tool.parameters'], ['subagent_type']) : null;
  return typeof subagent === 'string' && SUBAGENT.test(subagent) ? [{ kind: 'agent', name: subagent }] : [];
}

/** The tools of MCP servers are called `mcp__<server>__<tool>`. The agent runs all others itself. */
function placeToolOfClaudeAgent(facts: Facts): void {
  const { tool } = facts;
  if (tool === null) return;
  const named = splitMarked(tool);
  facts.tool = named?.tool ?? tool;
  facts.toolServer = named?.server ?? null;
  facts.toolRunsAt = named === null ? 'agent' : null;
}

const OF_LANGCHAIN = /[-._]langchain$/;

const OF_LLAMA_INDEX = /[-.]llama[-_]index$/;

const CLAUDE_AGENT_SDK = /claude[-_]agent[-_]sdk$/;

const SUBAGENT_RUN = /\.(?:Agent|Subagent|Task)$/;

const SUBAGENT = /^[\w.:-]{1,64}$/;

const BEDROCK = '@arizeai/openinference-instrumentation-bedrock';

/**
 * The instrumentation of Bedrock shortens the model's id, which leaves only `anthropic` of `us.anthropic.claude-sonnet-5-v1:0`,
 * and reports input tokens without cached ones. The request of the Converse API has the whole id, and its total counts all tokens.
 * The answer of InvokeModel has the name that Anthropic gives to the model.
 */
function modelOfBedrock({ attributes }: ReadSource): string | null {
  const id = readInside(attributes['input.value'], ['modelId']) ?? readInside(attributes['output.value'], ['model']);
  return typeof id === 'string' && MODEL_ID.test(id) ? id : null;
}

const MODEL_ID = /^[\w.:/-]{2,256}$/;

/** The second name is traceAI's. */
function kindOf({ attributes }: ReadSource): string {
  return asText(attributes['openinference.span.kind'] ?? attributes['gen_ai.span.kind']).toUpperCase();
}

/**
 * The agent's name if no attribute has it: the graph's node, or the span's name without the method (`CodeAgent.run`). Only
 * some frameworks write names as node ids.
 */
function agentOf({ name, scope, attributes }: ReadSource): string | null {
  const { 'graph.node.name': nodeName, 'graph.node.id': nodeId } = attributes;
  const node = nodeName ?? (NODE_IDS_ARE_NAMES.test(scope.name) ? nodeId : null);
  if (typeof node === 'string' && node !== '') return node;
  return NAMES_NO_AGENT.test(scope.name) ? null : (subjectIn(name)?.replace(METHOD, '') ?? null);
}

/** The root span of OpenAI Agents is named after the workflow: `Agent workflow`. That of TanStack AI is always `ai.chat`. */
const NAMES_NO_AGENT = /openai[-_]agents|openinference-tanstack-ai/;

/** The method at the end of a span's name: `CodeAgent.run`, `get_weather.__call__`. */
const METHOD = /\.[a-z_]+$/;

const NODE_IDS_ARE_NAMES = /openai[-_]agents|crewai/;

/** Instrumentations of frameworks that call models through LiteLLM. */
const WITH_VENDOR_PREFIX = new Set(
  ['crewai', 'dspy', 'litellm', 'smolagents'].map((name) => `openinference.instrumentation.${name}`),
);

/**
 * NVIDIA NeMo Agent Toolkit (github.com/NVIDIA/NeMo-Agent-Toolkit, packages/nvidia_nat_core/src/nat/observability/exporter). It writes
 * OpenInference, but the provider of a model is the framework that called it. A function is a part of the workflow, or what
 * runs inside a tool.
 */
export const nemoAgentToolkit: Dialect = {
  ...openinference,
  name: 'nemo-agent-toolkit',
  scopes: ['nat'],
  signature: ['nat.span.kind'],
  readsAlone: true,
  attributes: { ...openinference.attributes, vendor: [], tool: [] },
  ignores: ['llm.provider'],
  content: [...(openinference.content ?? []), 'input.value_obj', 'output.value_obj', 'nat.metadata'],
};
