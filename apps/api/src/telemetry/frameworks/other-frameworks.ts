import { canonicalVendor } from '@quartermaster/naming/vendors.ts';
import type { Attributes, AttributeValue } from '../otlp/span.ts';
import { withPublicUrls } from '../urls.ts';
import { asText } from '../reading/as-text.ts';
import { addCacheToInput, setCachedTokens } from '../reading/cached-tokens.ts';
import type { Dialect, ReadSource } from '../reading/dialect.ts';
import { isModelName } from '../reading/endings.ts';
import type { Facts } from '../reading/facts.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { genai } from '../reading/genai.ts';
import { readInside } from '../reading/inside.ts';
import { isModelCall, operationKey, withoutQuotes } from '../reading/operations.ts';
import { isRejectedByOpenAiAgents } from './openai-agents.ts';
import { serverToolsIn, withServerTools } from '../reading/server-tools.ts';
import { subjectIn, vendorInSpanName } from '../reading/span-subject.ts';
import { usageInTexts } from '../reading/usage-texts.ts';
import { splitVendorPrefix } from '../reading/vendor-prefix.ts';

const TYPE_OF_HONEYHIVE = 'honeyhive_event_type';
const AGENT_KIND = 'lmnr.association.properties.metadata.agent_kind';

/**
 * Judgment's SDK (github.com/JudgmentLabs/judgeval, src/judgeval/trace/base_tracer.py) and Basalt's (github.com/basalt-ai/basalt-python,
 * basalt/observability/api.py) mark functions of the application with `function`, and tools with `tool`.
 */
const MARKS_OF_FUNCTIONS = ['judgment.span_kind', 'basalt.span.kind'];

const AGENTSCOPE = 'agentscope';

/** Judgment's SDK writes a tool or agent with `fork` into a trace of its own. The calling trace has a second span, with a link. */
const LINK_OF_JUDGMENT = 'judgment.link.target_span_id';

/** What MLflow writes: the type of a span, request, answer, and client. */
const TYPE_OF_MLFLOW = 'mlflow.spanType';
const REQUEST_OF_MLFLOW = 'mlflow.spanInputs';
const ANSWER_OF_MLFLOW = 'mlflow.spanOutputs';
const CLIENT_OF_MLFLOW = 'mlflow.message.format';

const MLFLOW_NAMES: readonly string[] = [TYPE_OF_MLFLOW, REQUEST_OF_MLFLOW, ANSWER_OF_MLFLOW, CLIENT_OF_MLFLOW];

/**
 * Frameworks without a dialect of their own. They write the OpenTelemetry names, or names of their own with usual endings.
 * Where a span has no OpenTelemetry name at all, such an attribute is read only if there is evidence that it is what it seems
 * to be: `device.model.name` is not a model.
 */
export const otherFrameworks: Dialect = {
  ...genai,
  attributes: {
    ...genai.attributes,
    cacheReadTokens: [...genai.attributes.cacheReadTokens, 'agentscope.usage.cache_input_tokens'],
    cacheWriteTokens: [...genai.attributes.cacheWriteTokens, 'agentscope.usage.cache_creation_input_tokens'],
  },
  endings: {
    operation: ['span.kind', 'span.type', 'observation.type', 'event.type'],
    vendor: ['llm.provider', 'llm.vendor', 'llm.system', 'model.provider', 'provider', 'provider.name'],
    model: ['request.model', 'llm.model', 'llm.model.name', 'llm.model.id', 'model.name', 'model.id', 'model'],
    responseModel: ['response.model', 'response.model.name'],
    tool: ['tool.name', 'tool.function.name', 'tool.definition.name', 'tool'],
    toolServer: ['mcp.server', 'mcp.server.name', 'tool.server', 'tool.server.name'],
    callId: ['tool.call.id', 'function.tool.id'],
    agent: ['agent.name', 'agent.label'],
    inputTokens: [
      'input.tokens',
      'prompt.tokens',
      'tokens.input',
      'tokens.in',
      'tokens.prompt',
      'input.token.count',
      'token.count.input',
      'token.count.prompt',
    ],
    outputTokens: [
      'output.tokens',
      'completion.tokens',
      'tokens.output',
      'tokens.out',
      'tokens.completion',
      'output.token.count',
      'token.count.output',
      'token.count.completion',
    ],
    errorType: ['tool.error.type'],
  },
  operations: {
    llm: 'chat',
    generation: 'chat',
    model: 'chat',
    embedding: 'embeddings',
    tool: 'execute_tool',
    'tool.usage': 'execute_tool',
    function: 'execute_tool',
    agent: 'invoke_agent',
    chatmodel: 'chat',
    chat_model: 'chat',
    retriever: 'retrieval',
    workflow: 'invoke_workflow',
  },
  wrappers: ['chain', 'entry', 'evaluator', 'framework', 'guardrail', 'session', 'step', 'task'],
  refine(span, facts) {
    const { attributes, name } = span;
    if (facts.inputTokens === null || facts.outputTokens === null) {
      const { input, output, reasoning, ...cached } = usageInTexts(attributes);
      facts.inputTokens ??= input;
      facts.outputTokens ??= output;
      facts.reasoningTokens ??= reasoning;
      setCachedTokens(cached, facts);
    }
    readModelOfMlflow(attributes, facts);
    if (MARKS_OF_FUNCTIONS.some((name) => attributes[name] === 'function')) facts.operation = null;
    if (attributes[LINK_OF_JUDGMENT] !== undefined) facts.operation = null;
    // Prompt flow (github.com/microsoft/promptflow, src/promptflow-tracing) marks every function of the application.
    if (attributes['framework'] === 'promptflow' && attributes['span_type'] === 'Function') facts.operation = null;
    if (attributes['gen_ai.operation.name'] === undefined) {
      if (facts.operation === 'execute_tool' && !isMarkedByHoneyHive(span)) facts.tool ??= toolOf(span);
      if (facts.operation === 'invoke_agent') facts.agent ??= subjectOf(name);
      if (facts.operation === null && ABOUT_A_CALL.test(name)) facts.tool = null;
    }
    if (facts.tool !== null && hasStatusOfRejection(attributes)) facts.tool = null;
    if (MCP_SERVER_OF_EFFECT.test(name)) facts.tool = null;
    if (!followsConvention(attributes)) requireEvidence(span, facts);
    if (facts.model !== null && facts.tool === null) facts.vendor ??= vendorInSpanName(name);
    // Eino names the client of a model: OpenAI, Claude, Ollama.
    if (facts.model !== null) facts.vendor ??= canonicalVendor(asText(attributes['runinfo.type'] ?? ''));
    if (span.scope.name === LANGWATCH) splitVendorPrefix(facts);
    // AgentScope (github.com/agentscope-ai/agentscope, src/agentscope/middleware/_tracing) copies the counts of the vendor's API.
    // Anthropic's input excludes cached tokens.
    if (span.scope.name === AGENTSCOPE && facts.vendor === 'anthropic') addCacheToInput(facts);
  },
  alsoReads: [
    ...MARKS_OF_FUNCTIONS,
    LINK_OF_JUDGMENT,
    'framework',
    'runinfo.type',
    'parameters',
    TYPE_OF_HONEYHIVE,
    AGENT_KIND,
    ...MLFLOW_NAMES,
  ],
  wasRejected: (span) => OPENAI_AGENTS.test(span.scope.name) && isRejectedByOpenAiAgents(span),
  uses(span, facts, usual) {
    const tool = toolOfEffect(span, facts);
    const isOnlyModel = usual.length > 0 && usual.every(({ kind }) => kind === 'model');
    if (isOnlyModel && tool !== null) return [...usual, { kind: 'tool', name: tool }];
    return withServerTools(facts, usual, () => serverToolsInAnswer(span.attributes));
  },
  // The event repeats the span that it was written in, if there is one.
  logs: { 'gen_ai.client.inference.operation.details': { operation: 'chat' } },
};

/**
 * The instrumentations of the OpenAI Agents SDK by AWS and by OpenTelemetry. OpenLLMetry's has the same scope as the latter, and is
 * known by its attributes.
 */
const OPENAI_AGENTS = /^(?:@aws\/.*-openai-agents|opentelemetry\.instrumentation\.openai_agents)$/;

const STATUS_OF_TOOL = /(?:^|[._])tool[._](?:decision|failure_kind|status)$/;
const REJECTED = /^(?!output|result)(?:\w+_)?(?:blocked|declined|denied|rejected|skipped)$/i;

/** Whether the tool was rejected before it ran: `tool.failure_kind: plan_mode_blocked`, `acme.tool.status: denied`. */
function hasStatusOfRejection(attributes: ReadSource['attributes']): boolean {
  return Object.entries(attributes).some(([name, value]) => STATUS_OF_TOOL.test(name) && REJECTED.test(asText(value)));
}

/**
 * HoneyHive's SDK for Python (github.com/honeyhiveai/python-sdk, span_processor.py) marks spans of others that it does not know as
 * tools, such as requests by HTTP. Its own spans have a scope `honeyhive.<id>`. Another attribute may say that it is a tool.
 */
function isMarkedByHoneyHive({ attributes, scope }: ReadSource): boolean {
  if (attributes[TYPE_OF_HONEYHIVE] !== 'tool' || scope.name.startsWith('honeyhive.')) return false;
  return Object.entries(attributes).every(([name, value]) => {
    return name === TYPE_OF_HONEYHIVE || typeof value !== 'string' || !KINDS_OF_TOOLS.has(operationKey(value));
  });
}

const KINDS_OF_TOOLS = new Set(['tool', 'tool.usage', 'function']);

/**
 * OpenHands (github.com/OpenHands/software-agent-sdk, agent/acp_tracing.py) runs other coding agents by the Agent Client Protocol. A
 * span is then named after the title of a call: the name of the tool, or a text such as `Read src/main.ts`.
 */
function toolOf({ attributes, name }: ReadSource): string | null {
  return attributes[AGENT_KIND] === 'acp' && !FUNCTION_NAMES.tool.test(name) ? null : subjectOf(name);
}

/** LangWatch's SDK for Python (github.com/langwatch/langwatch, sdks/python) writes the vendor in front of the model. */
const LANGWATCH = 'langwatch';

const NAME_OF_ANSWER = /(?:^|[._:/-]|[a-z])(?:output|response|completion)(?:[._]?(?:json|value))?$/i;

/** The tools that the vendor ran, by an attribute that holds the vendor's answer as JSON. */
function serverToolsInAnswer(attributes: ReadSource['attributes']): string[] {
  for (const name in attributes) {
    const text = attributes[name];
    if (typeof text !== 'string' || !/^[[{]/.test(text) || !NAME_OF_ANSWER.test(name)) continue;
    const tools = serverToolsIn(text);
    if (tools.length > 0) return tools;
  }
  return [];
}

function followsConvention(attributes: ReadSource['attributes']): boolean {
  for (const name in attributes) {
    if (name.startsWith('gen_ai.') || name.startsWith('mcp.') || name.startsWith('llm.')) return true;
  }
  return false;
}

const OPERATION_IN_FRONT = /^(?:execute_tool|invoke_agent|tool|function|agent)[ .:]+(?=.)/;
const KIND_AT_END = /(?<=.)\.(?:tool|agent|run)$/;

/** The tool or agent that a span is named after. */
function subjectOf(spanName: string): string | null {
  const name = subjectIn(spanName.replace(OPERATION_IN_FRONT, '').replace(KIND_AT_END, ''));
  return name === null || GENERIC_NAMES.has(name.toLowerCase()) || GENERIC_METHOD.test(name) ? null : name;
}

/** Spans of hooks and approvals name the tool that they are about. Its call has a span of its own. */
const ABOUT_A_CALL = /(?:^|[._ :/-])(?:approval|confirmation|hook|permission)s?(?:$|[._ :/-])/i;

const GENERIC_NAMES = new Set(['agent', 'execute_tool', 'function', 'invoke_agent', 'run', 'tool']);

/** A method that calls any tool, such as `MCPToolExecutor.call_tool` of OpenHands. */
const GENERIC_METHOD = /\.(?:call|execute|run)_tool$/;

const NAMES_OF_MODEL_CALLS = /llm|gen_?ai|chat|complet|generat|embed|infer|model|rerank|speech|transcri/i;

/** Attributes that calls of tools have beside the name. */
const OF_TOOL_CALL =
  /(?:^|[._])tool[._]?(?:[a-z]+[._])?(?:args|arguments|call|error|id|input|output|parameters|result)/i;

/** `runTool`, `tool.execute`, `Toolkit.handle`, and not `toolchain`. */
const NAMES_OF_TOOL_CALLS = /tool(?!bar|box|chain|tip)/i;

/** `McpServer.@effect/mcp/2025-06-18/tools/call`: the span of an MCP server names the tool as well. The client's span counts. */
const MCP_SERVER_OF_EFFECT = /^McpServer\.(?:@effect\/mcp\/[\d-]+\/)?tools\/call$/;

/**
 * The tool that a span names as Effect 4 does (github.com/Effect-TS/effect, packages/effect/src/ai/Toolkit.ts). A tool has no span
 * of its own: its name is written on the span that is open when it is called. After `generateText` this is the span of the model
 * that asked for it, after `streamText` a span of the application. Effect 3 has a span `Toolkit.handle`.
 */
function toolOfEffect({ attributes }: ReadSource, { tool }: Facts): string | null {
  return attributes['tool'] === tool && attributes['parameters'] !== undefined ? tool : null;
}

/** Clears what only resembles a model, a tool or an agent. */
function requireEvidence(span: ReadSource, facts: Facts): void {
  const { name, attributes } = span;
  const { vendor, inputTokens, outputTokens, operation } = facts;
  const isCalled = inputTokens !== null || outputTokens !== null || isModelCall(operation);
  if (!isCalled && (vendor === null || !NAMES_OF_MODEL_CALLS.test(name))) {
    facts.model = null;
    facts.responseModel = null;
  }
  if (facts.tool !== null) {
    const isNamed = operation === 'execute_tool' || NAMES_OF_TOOL_CALLS.test(name) || name === facts.tool;
    const isToolCall =
      isNamed ||
      toolOfEffect(span, facts) !== null ||
      Object.keys(attributes).some((attribute) => OF_TOOL_CALL.test(attribute));
    if (!isToolCall) facts.tool = null;
  }
  if (facts.model === null && facts.tool === null && facts.agent !== null && /agent/i.test(name)) {
    facts.operation ??= 'invoke_agent';
  }
  if (facts.model !== null || facts.tool !== null || facts.operation === 'invoke_agent') return;
  for (const fact in facts) Object.assign(facts, { [fact]: null });
}

/**
 * Reads the model of a call from its request and its answer, as MLflow writes them (github.com/mlflow/mlflow). MLflow's wrappers of
 * clients for TypeScript (libs/typescript/integrations) write it nowhere else. They also name the client. Many vendors are called with
 * the client of OpenAI, so that one tells no vendor.
 */
function readModelOfMlflow(attributes: Attributes, facts: Facts): void {
  if (attributes[TYPE_OF_MLFLOW] === undefined || !isModelCall(facts.operation)) return;
  const answered =
    modelIn(attributes[ANSWER_OF_MLFLOW], 'model') ?? modelIn(attributes[ANSWER_OF_MLFLOW], 'modelVersion');
  facts.model ??= modelIn(attributes[REQUEST_OF_MLFLOW], 'model') ?? answered;
  facts.responseModel ??= answered;
  const client = withoutQuotes(asText(attributes[CLIENT_OF_MLFLOW] ?? ''));
  if (facts.model !== null && client !== 'openai') facts.vendor ??= canonicalVendor(client);
}

function modelIn(attribute: AttributeValue | undefined, key: string): string | null {
  const text = readInside(attribute, [key]);
  return typeof text === 'string' && isModelName(text) ? withPublicUrls(text) : null;
}
