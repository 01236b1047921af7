import { ownMember } from '../../platform/own-member.ts';
import type { Attributes, AttributeValue } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import { cachedInUsage, cachedTokensOf, setCachedTokens } from '../reading/cached-tokens.ts';
import type { Dialect } from '../reading/dialect.ts';
import { countUnder } from '../reading/fact-slots.ts';
import type { Facts } from '../reading/facts.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { parsedJson, readInside } from '../reading/inside.ts';
import { addServerTools, markedTool, serverToolsIn, withServerTools } from '../reading/server-tools.ts';

const PROVIDER_METADATA = 'ai.response.providerMetadata';

const TOOL_OF_INKEEP = 'ai.toolType';
const PURPOSE_OF_INKEEP = 'ai.telemetry.metadata.generationType';
const INKEEP_PURPOSES = new Set([
  'artifact_metadata',
  'component_render',
  'conversation_compression',
  'eval_scoring',
  'mid_generation_compression',
  'status_update',
]);

/**
 * Vercel AI SDK 4 to 6, and 7 with `LegacyOpenTelemetry` (github.com/vercel/ai, packages/ai/src/telemetry and
 * packages/otel/src/legacy-open-telemetry.ts). A call writes an outer span (`ai.generateText`), and inside it a span for each
 * model request (`ai.generateText.doGenerate`) and each tool call (`ai.toolCall`). The outer span repeats the model. Its
 * function id is the only name of an agent.
 */
export const vercelAi: Dialect = {
  name: 'vercel-ai',
  scopes: ['ai'],
  signature: ['ai.operationId', 'ai.model.id', 'ai.model.provider', 'ai.toolCall.name', 'ai.telemetry.functionId'],
  attributes: {
    operation: ['ai.operationId'],
    vendor: ['ai.model.provider'],
    model: ['ai.model.id'],
    responseModel: ['ai.response.model'],
    agent: ['ai.telemetry.functionId', 'ai.functionId'],
    tool: ['ai.toolCall.name'],
    // Inkeep Agents adds it.
    toolServer: ['ai.toolCall.mcpServerName'],
    callId: ['ai.toolCall.id', 'ai.response.id'],
    // Version 7 copies the vendor's names for audio: `input_tokens`.
    inputTokens: ['ai.usage.inputTokens', 'ai.usage.promptTokens', 'ai.usage.tokens', 'ai.usage.input_tokens'],
    outputTokens: ['ai.usage.outputTokens', 'ai.usage.completionTokens', 'ai.usage.output_tokens'],
    cacheReadTokens: ['ai.usage.inputTokenDetails.cacheReadTokens'],
    cacheWriteTokens: ['ai.usage.inputTokenDetails.cacheWriteTokens'],
    reasoningTokens: ['ai.usage.outputTokenDetails.reasoningTokens'],
  },
  operations: {
    'ai.generatetext': 'invoke_agent',
    'ai.streamtext': 'invoke_agent',
    'ai.generateobject': 'invoke_agent',
    'ai.streamobject': 'invoke_agent',
    'ai.workflowagent.stream': 'invoke_agent',
    'ai.generatetext.dogenerate': 'chat',
    'ai.streamtext.dostream': 'chat',
    'ai.generateobject.dogenerate': 'chat',
    'ai.streamobject.dostream': 'chat',
    'ai.toolcall': 'execute_tool',
    'ai.embed': 'embeddings',
    'ai.embed.doembed': 'embeddings',
    'ai.embedmany': 'embeddings',
    'ai.embedmany.doembed': 'embeddings',
    'ai.rerank': 'rerank',
    'ai.rerank.dorerank': 'rerank',
  },
  wrappers: ['ai.embed', 'ai.embedmany', 'ai.rerank'],
  // `vercel` is the API of v0.
  vendors: { gateway: 'vercel_ai_gateway', 'vercel.chat': 'vercel' },
  // Laminar's integration of version 7 (github.com/lmnr-ai/lmnr-ts) has the operation in the span's name.
  spanNames: [
    { pattern: /^ai\.(?:generate|stream)(?:Text|Object)$/, operation: 'invoke_agent' },
    { pattern: /^ai\.(?:generate|stream)(?:Text|Object) (?<agent>.+)$/, operation: 'invoke_agent' },
  ],
  content: [
    'ai.prompt',
    'ai.response.text',
    'ai.response.object',
    'ai.response.reasoning',
    'ai.response.toolCalls',
    'ai.response.files',
    PROVIDER_METADATA,
    'ai.response.usage',
    // Versions before 3.4 wrote `ai.result` instead of `ai.response`.
    'ai.result',
    'ai.request',
    'ai.toolCall.args',
    'ai.toolCall.result',
    'ai.value',
    'ai.values',
    'ai.embedding',
    'ai.embeddings',
    'ai.documents',
    'ai.ranking',
    'ai.decision',
    'ai.schema',
    'ai.settings.context',
    'ai.settings.stopSequences',
    'ai.telemetry.metadata',
  ],
  safe: ['operation.name', 'resource.name', 'ai.response.finishReason', 'ai.response.timestamp'],
  alsoReads: ['ai.prompt.tools', 'ai.response.toolCalls', PROVIDER_METADATA, TOOL_OF_INKEEP, PURPOSE_OF_INKEEP],
  refine(span, facts) {
    if (facts.operation === 'chat') addTokensInMetadata(span.attributes[PROVIDER_METADATA], facts);
    readInkeep(span.attributes, facts);
  },
  uses({ attributes }, facts, usual) {
    if (facts.operation !== 'chat' || facts.model === null) return usual;
    const tools = vendorToolsIn(attributes['ai.prompt.tools'], attributes['ai.response.toolCalls']);
    if (tools.length === 0) return withServerTools(facts, usual, () => searchesOfGoogle(attributes));
    facts.tool = tools[0] ?? null;
    return addServerTools(facts, usual, tools);
  },
};

/**
 * Inkeep Agents (github.com/inkeep/agents, agents-api/src/domains/run) gives agents tools that hand over to other agents. It calls
 * models for purposes of its own as well: then the function id has the id of a session or an artifact, and names no agent.
 */
function readInkeep(attributes: Attributes, facts: Facts): void {
  const { [TOOL_OF_INKEEP]: tool, [PURPOSE_OF_INKEEP]: purpose } = attributes;
  if (tool === 'transfer' || tool === 'delegation') Object.assign(facts, { tool: null, operation: 'handoff' });
  if (typeof purpose === 'string' && INKEEP_PURPOSES.has(purpose)) facts.agent = null;
}

/** The searches of Gemini, which are no tool calls: only the metadata of the answer shows them. */
function searchesOfGoogle({ [PROVIDER_METADATA]: metadata }: Attributes): string[] {
  if (typeof metadata !== 'string' || !metadata.includes('groundingMetadata')) return [];
  return serverToolsIn({ providerMetadata: parsedJson(metadata) }).filter((tool) => tool === 'google_search');
}

/** Provider tools that the vendor runs. Other provider tools (`computer`, `bash`, `text_editor`) run in the application. */
const RUN_BY_VENDOR =
  /^(?:web_search|web_fetch|code_interpreter|code_execution|file_search|image_generation|google_search|url_context|enterprise_web_search|x_search|tool_search)/;

/**
 * The calls of vendor tools among the tool calls of an answer. They have no span. A call has the application's name of the
 * tool, its definition the vendor's id, such as `anthropic.web_search_20250305`.
 */
function vendorToolsIn(definitions: AttributeValue | undefined, calls: AttributeValue | undefined): string[] {
  if (typeof calls !== 'string') return [];
  const kinds = new Map<unknown, string>();
  const servers = new Set<unknown>();
  for (const definition of Array.isArray(definitions) ? definitions : []) {
    // A shortcut: most tools are functions, which need not be parsed.
    if (typeof definition !== 'string' || !definition.startsWith('{"type":"provider')) continue;
    const { name, id, args } = (parsed(definition) ?? {}) as { name?: unknown; id?: unknown; args?: unknown };
    if (id === 'openai.mcp') servers.add(ownMember(args, 'serverLabel'));
    const kind = asText(id).replace(/^[^.]*\./, '');
    if (RUN_BY_VENDOR.test(kind)) kinds.set(name, kind.replace(/_(?:preview|\d{8})$/, ''));
  }
  if (kinds.size === 0 && servers.size === 0 && !calls.includes(ID_OF_ANTHROPIC_MCP)) return [];
  const [server] = servers.size === 1 ? servers : [];
  const made = parsed(calls);
  return (Array.isArray(made) ? made : []).flatMap((call) => {
    const name = ownMember(call, 'toolName');
    if (typeof name !== 'string' || !FUNCTION_NAMES.tool.test(name)) return [];
    const tool = name.replace(MCP_TOOL_OF_OPENAI, '');
    if (tool !== name && servers.size > 0) return markedTool(server, tool) ?? tool;
    const isMcp = asText(ownMember(call, 'toolCallId')).startsWith(ID_OF_ANTHROPIC_MCP);
    return isMcp ? name : (kinds.get(name) ?? []);
  });
}

/** The ids of calls that Anthropic makes at an MCP server. */
const ID_OF_ANTHROPIC_MCP = 'mcptoolu_';

/** In front of the names of tools that OpenAI calls at an MCP server. */
const MCP_TOOL_OF_OPENAI = /^mcp\.(?=.)/;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const RESULT = 'gen_ai.tool.call.result';

/**
 * Vercel AI SDK 7 with `@ai-sdk/otel` (github.com/vercel/ai, packages/otel/src/open-telemetry.ts): the OpenTelemetry GenAI
 * conventions, plus its own attributes.
 */
export const vercelAi7: Dialect = {
  name: 'vercel-ai-7',
  scopes: ['gen_ai'],
  // An agent's step contains the model request and the tool calls that follow.
  operations: { agent_step: null },
  vendors: vercelAi.vendors ?? {},
  // Its own attributes have the names of earlier versions.
  content: vercelAi.content ?? [],
  serverToolsHaveSpans: true,
  alsoReads: ['gen_ai.tool.type', RESULT, PROVIDER_METADATA],
  refine(span, facts) {
    // The type `extension` is a tool that the vendor ran, or called at an MCP server.
    if (facts.tool === null || span.attributes['gen_ai.tool.type'] !== 'extension') return;
    facts.toolRunsAt = 'vendor';
    if (!MCP_TOOL_OF_OPENAI.test(facts.tool)) return;
    facts.tool = facts.tool.replace(MCP_TOOL_OF_OPENAI, '');
    const server = readInside(span.attributes[RESULT], ['serverLabel']);
    if (typeof server === 'string' && FUNCTION_NAMES.toolServer.test(server)) facts.toolServer = server;
  },
  uses: ({ attributes }, facts, usual) => withServerTools(facts, usual, () => searchesOfGoogle(attributes)),
};

/** Metadata with such a key may have tokens that the attributes leave out. Other metadata need not be parsed. */
const MARK = /cache_(?:read|creation)_input|cacheReadInput|thoughtsToken/;

/** The cached tokens under names that only version 4 writes. */
function cachedInVersion4(usage: unknown) {
  const countOf = (key: string) => countUnder(usage, key);
  return {
    cacheReadTokens: countOf('cacheReadInputTokens'),
    cacheWriteTokens: countOf('cacheCreationInputTokens') ?? countOf('cacheWriteInputTokens'),
  };
}

/**
 * Adds tokens to a model call by the AI SDK. Its versions 4 and 5 copy the numbers of the vendor's API: the input of Anthropic and
 * Bedrock excludes cached tokens, and the output of Google excludes reasoning tokens. The metadata of the answer has them. Later
 * versions have the same metadata, and other numbers in the attributes.
 */
function addTokensInMetadata(metadata: unknown, facts: Facts): void {
  if (typeof metadata !== 'string' || !MARK.test(metadata)) return;
  for (const answer of Object.values(parsedJson(metadata) ?? {})) {
    const usage = ownMember(answer, 'usage') ?? answer;
    const ofGoogle = ownMember(answer, 'usageMetadata');
    if (facts.inputTokens !== null) {
      const isOfVersion4 = countUnder(usage, 'cacheReadInputTokens') !== null;
      const cached = isOfVersion4 ? cachedInVersion4(usage) : cachedInUsage(usage);
      if (isOfVersion4 || countUnder(usage, 'input_tokens') === facts.inputTokens)
        facts.inputTokens += cachedTokensOf(cached);
      setCachedTokens(cached, facts);
    }
    const thoughts = countUnder(ofGoogle, 'thoughtsTokenCount');
    if (facts.outputTokens !== null && countUnder(ofGoogle, 'candidatesTokenCount') === facts.outputTokens)
      facts.outputTokens += thoughts ?? 0;
    facts.reasoningTokens ??= thoughts;
  }
}

/**
 * The attempts of Vercel's AI Gateway to call a model (vercel.com/docs/ai-gateway, "AI Gateway traces"). Each attempt is a call of its
 * own, and may be at another vendor. The span around them is read by OpenTelemetry's names.
 */
export const vercelAiGateway: Dialect = {
  name: 'vercel-ai-gateway',
  signature: ['vercel.ai_gateway.attempt.*'],
  defaults: { operation: 'chat' },
};

/** Vercel's eve (eve.dev/docs, guides/instrumentation). It writes OpenTelemetry GenAI and MCP. An MCP server is a connection. */
export const eve: Dialect = {
  name: 'eve',
  scopes: ['eve.agent', 'eve.mcp'],
  attributes: { toolServer: ['eve.connection.name', 'agent.connection.name', 'mcp.server.name'] },
  content: ['ai.response.tool_calls', 'agent.session.title', 'agent.trace.content', 'agent.channel.delivery.input'],
  safe: [
    'agent.action.kind',
    'agent.action.name',
    'agent.action.outcome',
    'agent.channel.kind',
    'agent.framework.name',
    'agent.framework.version',
    'agent.model.id',
    'agent.name',
    'agent.run.id',
    'agent.session.origin',
    'agent.turn.id',
  ],
  alsoReads: ['agent.tool.is_framework'],
  refine({ attributes }, facts) {
    if (facts.tool !== null && attributes['agent.tool.is_framework'] === true) facts.toolRunsAt = 'agent';
  },
};
