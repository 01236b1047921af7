import { ownMember } from '../../platform/own-member.ts';
import type { Attributes, AttributeValue } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import { cachedInUsage, cachedTokensOf, setCachedTokens } from '../reading/cached-tokens.ts';
import type { Dialect } from '../reading/dialect.ts';
import { asCount, countUnder } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { memberOfEitherCase, parsedAttribute, readInside } from '../reading/inside.ts';
import { addUncountedReasoning } from '../reading/reasoning-tokens.ts';
import { serverToolsIn, withServerTools } from '../reading/server-tools.ts';
import { vendorIn } from '../reading/vendors.ts';

/**
 * Gemini CLI (geminicli.com/docs/cli/telemetry; packages/core/src/telemetry). It sends spans and log records. The record of a
 * request identifies the span of the call. The record of the answer identifies no call, but only it has all tokens.
 */
export const geminiCli: Dialect = {
  name: 'gemini-cli',
  scopes: ['gemini-cli'],
  attributes: {
    vendor: ['auth_type'],
    // The called agent is in the arguments of the call. The usual attribute names the caller.
    agent: ['gen_ai.input.messages#agent_name', 'gen_ai.agent.name'],
    callId: ['gen_ai.tool.call_id'],
    conversationId: ['session.id'],
  },
  // The prompt's name is the id of the session. Spans have tokens only with detailed traces, and without thinking tokens.
  ignores: [
    'gen_ai.prompt.name',
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.prompt_tokens',
    'gen_ai.usage.completion_tokens',
  ],
  operations: {
    llm_call: 'chat',
    tool_call: 'execute_tool',
    agent_call: 'invoke_agent',
    schedule_tool_calls: 'plan',
    user_prompt: 'plan',
    system_prompt: 'plan',
  },
  names: FUNCTION_NAMES,
  vendors: {
    'gemini-api-key': 'gcp.gemini',
    'oauth-personal': 'gcp.gemini',
    'cloud-shell': 'gcp.gemini',
    'compute-default-credentials': 'gcp.gemini',
    'vertex-ai': 'gcp.vertex_ai',
    gateway: null,
  },
  content: [
    'gen_ai.input.messages',
    'prompt',
    'request_text',
    'response_text',
    'function_args',
    'error',
    'reasoning',
    'reason',
    'metadata',
    'gen_ai.agent.description',
    'gen_ai.tool.description',
  ],
  safe: ['installation.id', 'prompt_id', 'event.timestamp', 'approval_mode', 'active_approval_mode', 'tool_type'],
  uncounted: { outputTokens: ['thoughts_token_count'] },
  alsoReads: ['success', 'status_code', 'error_type'],
  refine({ name, attributes }, facts) {
    if (name === 'agent_call' && facts.agent === attributes['gen_ai.agent.name']) facts.agent = null;
    if (facts.tool !== null) readToolName(facts.tool, attributes, facts);
    if (attributes['success'] === false || name === 'gemini_cli.api_error') {
      const type = attributes['error.type'] ?? attributes['error_type'];
      facts.errorType = typeof type === 'string' && type !== '' ? type : 'error';
    }
    facts.vendor ??= facts.operation === 'chat' ? 'gcp.gemini' : null;
  },
  logs: {
    'gemini_cli.api_request': { operation: 'chat', attributes: { model: ['model'] } },
    'gemini_cli.api_response': {
      operation: 'chat',
      attributes: {
        model: ['model'],
        inputTokens: ['input_token_count'],
        outputTokens: ['output_token_count'],
        cacheReadTokens: ['cached_content_token_count'],
        reasoningTokens: ['thoughts_token_count'],
      },
      tokensOnly: () => true,
    },
    // Each attempt has a request of its own. An answer that breaks off has its error outside of the span, and only the span counts it.
    'gemini_cli.api_error': { operation: 'chat', attributes: { model: ['model'] }, isFailure: true },
    'gemini_cli.tool_call': {
      operation: 'execute_tool',
      attributes: { tool: ['function_name'], toolServer: ['mcp_server_name'] },
      counts: ({ attributes }) => attributes['decision'] !== 'reject',
    },
    'gemini_cli.agent.start': {
      operation: 'invoke_agent',
      attributes: { agent: ['agent_name'], agentId: ['agent_id'] },
    },
  },
};

/** The tool of an MCP server as the user sees it, `echo (everything MCP Server)`. It is in the span if content is sent. */
function displayedTool(attributes: Attributes): { server: string; tool: string } | null {
  const name = readInside(attributes['gen_ai.input.messages'], ['display', 'name']);
  const [, tool = '', server = ''] = /^(\S+) \((.+) MCP Server\)$/.exec(asText(name)) ?? [];
  return FUNCTION_NAMES.tool.test(tool) && FUNCTION_NAMES.toolServer.test(server) ? { server, tool } : null;
}

/**
 * Splits `mcp_everything_echo` into the server `everything` and the tool `echo`. If there are several ways to split a name, the tool
 * keeps the whole name, and belongs to the known server that fits best.
 */
function readToolName(written: string, attributes: Attributes, facts: Facts): void {
  const displayed = displayedTool(attributes);
  const known = facts.toolServer ?? displayed?.server;
  const server = known ?? /^mcp_([^_]+)_./.exec(written)?.[1];
  if (server === undefined) {
    facts.toolRunsAt = 'agent';
    return;
  }
  facts.toolServer = server;
  if (known === undefined && AMBIGUOUS.test(written)) return;
  const prefix = `mcp_${server.replaceAll(/[^\w.:-]/g, '_')}_`;
  facts.tool = displayed?.tool ?? (written.startsWith(prefix) ? written.slice(prefix.length) : written);
}

/** A name with several ways to split it: `mcp_weather_get_city` has the server `weather` or `weather_get`. */
const AMBIGUOUS = /^mcp_[^_]+_[^_]+_/;

const ANSWER = 'gcp.vertex.agent.llm_response';

/**
 * Google's Agent Development Kit (github.com/google/adk-js, core/src/telemetry/tracing.ts; github.com/google/adk-python,
 * src/google/adk/telemetry/tracing.py), and ADK-TS, which follows it (github.com/IQAIcom/adk-ts, telemetry.ts). Neither
 * names the vendor of the model: `gen_ai.system` is the framework.
 */
export const googleAdk: Dialect = {
  name: 'google-adk',
  scopes: ['gcp.vertex.agent', 'iqai-adk'],
  signature: ['gcp.vertex.agent.*', 'adk.*'],
  attributes: {
    workflow: ['gen_ai.workflow.name', 'adk.workflow.name'],
    conversationId: ['gcp.vertex.agent.session_id', 'adk.session_id'],
  },
  vendors: { 'gcp.vertex.agent': null, 'iqai-adk': null },
  operations: { generate: 'generate_content', execute_node: null },
  spanNames: [
    { pattern: /^invoke_agent (?<agent>.+)$/, operation: 'invoke_agent' },
    { pattern: /^agent_run \[(?<agent>.+)\]$/, operation: 'invoke_agent' },
    { pattern: /^call_llm$/, operation: 'chat' },
    // The span of a tool that failed has no attributes. If several tools ran in parallel, an additional span has all results.
    { pattern: /^execute_tool (?<tool>(?!\(merged\)).+)$/, operation: 'execute_tool' },
  ],
  content: [
    'gcp.vertex.agent.llm_request',
    ANSWER,
    'gcp.vertex.agent.tool_call_args',
    'gcp.vertex.agent.tool_response',
    'gcp.vertex.agent.data',
    'adk.llm_request',
    'adk.llm_response',
    'adk.tool_call_args',
    'adk.tool_response',
    'gen_ai.agent.description',
    'gen_ai.tool.description',
  ],
  safe: [
    'gcp.vertex.agent.invocation_id',
    'gcp.vertex.agent.session_id',
    'gcp.vertex.agent.event_id',
    'adk.system_name',
    'adk.request_model',
    'adk.invocation_id',
    'adk.session_id',
    'adk.event_id',
    'adk.node.path',
    'adk.node.run_id',
    'adk.node.status',
  ],
  answer: ANSWER,
  refine({ attributes }, facts) {
    addThoughts(attributes[ANSWER], facts);
    if (facts.callId === '<not specified>') facts.callId = null;
  },
};

/** Adds the tokens of thinking to the output. Only the answer has them. */
function addThoughts(answer: AttributeValue | undefined, facts: Facts): void {
  const usage = memberOfEitherCase(parsedAttribute(answer), 'usage_metadata');
  const countOf = (key: string) => asCount(memberOfEitherCase(usage, key)) ?? 0;
  addUncountedReasoning(facts, { reasoning: countOf('thoughts_token_count'), total: countOf('total_token_count') });
}

/**
 * Genkit (github.com/firebase/genkit, js/core/src/tracing/instrumentation.ts and action.ts). Every action writes a span with its
 * type and name. Models are named `<plugin>/<model>`, tools of an MCP server `<server>/<tool>`. Token counts are only in the
 * output.
 */
export const genkit: Dialect = {
  name: 'genkit',
  scopes: ['genkit-tracer'],
  signature: ['genkit:type', 'genkit:name'],
  attributes: {
    operation: ['genkit:metadata:subtype'],
    responseModel: ['genkit:output#raw.model'],
    callId: ['genkit:output#raw.id'],
    conversationId: ['genkit:metadata:agent:sessionId', 'genkit:sessionId'],
    inputTokens: ['genkit:output#usage.inputTokens'],
    outputTokens: ['genkit:output#usage.outputTokens'],
  },
  operations: {
    model: 'chat',
    'background-model': 'chat',
    embedder: 'embeddings',
    reranker: 'rerank',
    retriever: 'retrieval',
    tool: 'execute_tool',
    'tool.v2': 'execute_tool',
    flow: 'invoke_workflow',
    agent: 'invoke_agent',
    // Parts of the application itself.
    prompt: null,
    'executable-prompt': null,
    resource: null,
    util: null,
    indexer: null,
    evaluator: null,
    'agent-snapshot': null,
    'agent-abort': null,
    'check-operation': null,
    'cancel-operation': null,
    'dynamic-action-provider': null,
  },
  content: ['genkit:input', 'genkit:output', 'genkit:init', 'genkit:metadata', 'genkit:error'],
  safe: [
    'genkit:type',
    'genkit:name',
    'genkit:key',
    'genkit:path',
    'genkit:state',
    'genkit:metadata:subtype',
    'genkit:metadata:agent:sessionId',
    'genkit:sessionId',
  ],
  alsoReads: ['genkit:name', 'genkit:output'],
  // A tool that asks a person, in JavaScript and in Go (go/ai/tools.go). After the answer it runs again, or the answer is its result.
  rejected: { exception: /^[Tt]oolInterruptError$/ },
  refine({ attributes }, facts) {
    const name = attributes['genkit:name'];
    if (typeof name !== 'string') return;
    const [, prefix = null, rest = name] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
    switch (facts.operation) {
      case 'chat':
      case 'embeddings':
      case 'rerank':
        facts.vendor = prefix && vendorIn(prefix);
        facts.model = rest;
        addUncountedTokens(outputOf(attributes), facts);
        break;
      case 'execute_tool':
        facts.toolServer = prefix;
        facts.tool = rest;
        break;
      case 'invoke_workflow':
        facts.workflow = name;
        break;
      case 'invoke_agent':
        facts.agent = name;
        break;
      default:
        // The output of other spans repeats the facts of the model call.
        Object.assign(facts, { responseModel: null, model: null, callId: null, inputTokens: null, outputTokens: null });
    }
  },
  uses: ({ attributes }, facts, usual) =>
    withServerTools(facts, usual, () => serverToolsIn(answerIn(outputOf(attributes)))),
};

function outputOf({ 'genkit:output': output }: Attributes): unknown {
  return parsedAttribute(output);
}

/** The vendor's own answer. */
function answerIn(output: unknown): unknown {
  return ownMember(output, 'raw') ?? ownMember(output, 'custom');
}

/**
 * Genkit's counts are those of the vendor: Google leaves the reasoning tokens out of the output, Anthropic the cached ones out of the
 * input.
 */
function addUncountedTokens(answer: unknown, facts: Facts): void {
  if (facts.inputTokens === null || facts.outputTokens === null) return;
  const usage = ownMember(answer, 'usage');
  addUncountedReasoning(facts, {
    reasoning: countUnder(usage, 'thoughtsTokens') ?? 0,
    total: countUnder(usage, 'totalTokens') ?? 0,
  });
  const cached = cachedInUsage(ownMember(answerIn(answer), 'usage'));
  facts.inputTokens += cachedTokensOf(cached);
  setCachedTokens(cached, facts);
  facts.cacheReadTokens ??= countUnder(usage, 'cachedContentTokens');
}
