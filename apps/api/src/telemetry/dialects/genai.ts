import type { Attributes, OtlpSpan } from '../otlp/span.ts';
import type { Facts, Use } from './facts.ts';
import { readLangChainMetadata } from './langchain-metadata.ts';
import { visibleName } from './visible-name.ts';

/**
 * Reads the OpenTelemetry GenAI and MCP conventions (github.com/open-telemetry/semantic-conventions-genai) with their
 * older names, OpenInference (github.com/Arize-ai/openinference) and OpenLLMetry (github.com/traceloop/openllmetry); in
 * this order where a span carries several. Null for a span that says nothing of the kind. What the instrumentations in use
 * emit of it, and what they do not, is in docs/instrumentations.md.
 */
export function readGenAi(span: OtlpSpan): Facts | null {
  const { attributes } = span;
  const openInference = text(attributes, ['openinference.span.kind'])?.toUpperCase() ?? null;
  const traceloop = text(attributes, ['traceloop.span.kind'])?.toLowerCase() ?? null;
  const entity = (kind: string) => (traceloop === kind ? text(attributes, ['traceloop.entity.name']) : null);
  const mcpMethod = text(attributes, ['mcp.method.name']);
  const responseModel = text(attributes, NAMES.responseModel);
  const conversationId =
    text(attributes, NAMES.conversationId) ?? (openInference === null ? null : text(attributes, ['session.id']));
  const langChain = readLangChainMetadata(openInference === null ? undefined : attributes['metadata']);
  // LangChain names its agent on everything inside it, and calls the agent's own span by that name.
  const isLangChainAgent = openInference === 'CHAIN' && langChain.agent !== null && langChain.agent === span.name;
  const workflow = text(attributes, NAMES.workflow) ?? entity('workflow');

  const said = {
    operation: isLangChainAgent ? 'invoke_agent' : operationOf(attributes, { openInference, traceloop, mcpMethod }),
    vendor: providerOf(attributes, langChain.provider),
    model: text(attributes, NAMES.requestModel) ?? responseModel ?? text(attributes, NAMES.eitherModel),
    responseModel,
    agent:
      text(attributes, NAMES.agent) ??
      (openInference === 'AGENT' ? text(attributes, ['agent.name']) : null) ??
      entity('agent') ??
      (langChain.agent === null ? null : nameOf(langChain.agent)),
    agentId: text(attributes, NAMES.agentId),
    tool:
      text(attributes, NAMES.tool) ??
      (openInference === 'TOOL' ? text(attributes, ['tool.name']) : null) ??
      entity('tool'),
    toolServer: null,
    toolRunsAt: null,
    callId: null,
    prompt: text(attributes, NAMES.prompt),
    // OpenLLMetry makes a workflow of every conversation: one name each, and no name of anything that could be declared.
    workflow: workflow === `conversation.${conversationId}` ? null : workflow,
    mcpResource: text(attributes, NAMES.mcpResource),
    mcpMethod,
    conversationId,
    inputTokens: count(attributes, NAMES.inputTokens),
    outputTokens: count(attributes, NAMES.outputTokens),
  };
  // Any span may have an address or an error: these alone make none of this kind.
  if (Object.values(said).every((value) => value === null)) return null;
  return {
    ...said,
    serverAddress:
      text(attributes, NAMES.serverAddress)
        ?.toLowerCase()
        .replace(/^\[(.*)\]$/, '$1') ?? null,
    serverPort: portOf(attributes),
    errorType: text(attributes, NAMES.errorType),
  };
}

/**
 * What this span counts as a use of. An MCP call is seen from both ends; the client's span counts, the server's does not.
 * An agent's name counts where the span is the agent's own, not on every call that is made in its name. A workflow is an
 * agent. A span that stands for work inside this process (an agent's, a chain's) may repeat the model that is called in it:
 * that call has a span of its own, and only a remote agent (a client's span) has nobody else to name its model.
 */
export function usesOf(span: OtlpSpan, facts: Facts): Use[] {
  const { operation, tool, prompt, mcpMethod, mcpResource } = facts;
  if (mcpMethod !== null) {
    if (span.kind === 'server') return [];
    if (mcpMethod === 'tools/call') return named('tool', tool);
    if (mcpMethod === 'prompts/get') return named('prompt', prompt);
    if (RESOURCE_METHODS.has(mcpMethod)) return named('resource', mcpResource);
    return [];
  }
  if (operation === 'execute_tool') return named('tool', tool);
  const model = isEnclosing(span, operation) ? null : facts.model;
  if (operation === 'invoke_agent' || operation === 'create_agent') {
    return [...named('agent', facts.agent ?? facts.agentId), ...named('model', model), ...named('prompt', prompt)];
  }
  if (operation === 'invoke_workflow') return [...named('agent', facts.workflow), ...named('prompt', prompt)];
  // Instrumentations of before `gen_ai.operation.name` are known by what they name.
  const unnamedTool = operation === null && model === null ? named('tool', tool) : [];
  return [...named('model', model), ...unnamedTool, ...named('prompt', prompt)];
}

/** Attributes that hold each fact, the first one present decides. */
const NAMES = {
  operation: ['gen_ai.operation.name'],
  provider: ['gen_ai.provider.name'],
  olderProvider: ['gen_ai.system', 'llm.provider', 'llm.system'],
  requestModel: ['gen_ai.request.model', 'llm.request.model_name'],
  responseModel: ['gen_ai.response.model', 'llm.response.model_name'],
  /** OpenInference: the response's where known, else the request's. */
  eitherModel: ['llm.model_name', 'embedding.model_name', 'reranker.model_name'],
  agent: ['gen_ai.agent.name'],
  agentId: ['gen_ai.agent.id'],
  tool: ['gen_ai.tool.name'],
  prompt: ['gen_ai.prompt.name'],
  workflow: ['gen_ai.workflow.name'],
  mcpResource: ['mcp.resource.uri'],
  conversationId: ['gen_ai.conversation.id'],
  inputTokens: ['gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens', 'llm.token_count.prompt'],
  outputTokens: ['gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens', 'llm.token_count.completion'],
  serverAddress: ['server.address'],
  serverPort: ['server.port'],
  errorType: ['error.type'],
  /** Read only where another attribute says what they mean. */
  conditional: [
    'mcp.method.name',
    'openinference.span.kind',
    'tool.name',
    'agent.name',
    'session.id',
    'metadata',
    'traceloop.span.kind',
    'traceloop.entity.name',
    'llm.request.type',
  ],
};

/** Every attribute name that `readGenAi` looks at: decoders keep these however many others a span has. */
export const readNames: ReadonlySet<string> = new Set(Object.values(NAMES).flat());

const MAX_NAME_CHARACTERS = 256;
const MAX_PORT = 65_535;

const OPENINFERENCE_OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['LLM', 'chat'],
  ['EMBEDDING', 'embeddings'],
  ['RETRIEVER', 'retrieval'],
  ['TOOL', 'execute_tool'],
  ['AGENT', 'invoke_agent'],
]);

const OPENLLMETRY_OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['tool', 'execute_tool'],
  ['agent', 'invoke_agent'],
  ['workflow', 'invoke_workflow'],
]);

const OPENLLMETRY_REQUESTS: ReadonlyMap<string, string> = new Map([
  ['chat', 'chat'],
  ['completion', 'text_completion'],
  ['embedding', 'embeddings'],
]);

/** Work that consists of other spans, as OpenTelemetry and as OpenInference (whose spans are all internal) call it. */
const ENCLOSING_OPERATIONS = new Set(['invoke_agent', 'create_agent', 'invoke_workflow', 'plan']);
const ENCLOSING_KINDS = new Set(['CHAIN', 'AGENT', 'GUARDRAIL', 'EVALUATOR', 'PROMPT']);

const RESOURCE_METHODS = new Set(['resources/read', 'resources/subscribe']);

/**
 * Values of the attributes before `gen_ai.provider.name`, by lower-cased name. Others stay as they are.
 * `_OTHER` was how `gen_ai.system` said that it has no name for it.
 */
const PROVIDERS: ReadonlyMap<string, string | null> = new Map([
  // semantic-conventions, deprecated values of gen_ai.system
  ['az.ai.inference', 'azure.ai.inference'],
  ['az.ai.openai', 'azure.ai.openai'],
  ['gemini', 'gcp.gemini'],
  ['vertex_ai', 'gcp.vertex_ai'],
  ['xai', 'x_ai'],
  ['_other', null],
  // The same providers as OpenInference and early OpenLLMetry write them
  ['azure', 'azure.ai.openai'],
  ['aws', 'aws.bedrock'],
  ['amazon', 'aws.bedrock'],
  ['google', 'gcp.gen_ai'],
  ['vertexai', 'gcp.vertex_ai'],
  ['mistralai', 'mistral_ai'],
  ['moonshot', 'moonshot_ai'],
  ['watsonx', 'ibm.watsonx.ai'],
  // LangChain's ls_provider
  ['amazon_bedrock', 'aws.bedrock'],
  ['google_genai', 'gcp.gen_ai'],
  ['google_vertexai', 'gcp.vertex_ai'],
  ['mistral', 'mistral_ai'],
  // Early OpenLLMetry capitalised what is lower-case since
  ...['anthropic', 'cohere', 'deepseek', 'groq', 'ollama', 'openai', 'perplexity'].map((name) => [name, name] as const),
]);

function operationOf(
  attributes: Attributes,
  kinds: { openInference: string | null; traceloop: string | null; mcpMethod: string | null },
): string | null {
  const request = text(attributes, ['llm.request.type'])?.toLowerCase();
  return (
    text(attributes, NAMES.operation) ??
    (kinds.mcpMethod === 'tools/call' ? 'execute_tool' : null) ??
    OPENINFERENCE_OPERATIONS.get(kinds.openInference ?? '') ??
    OPENLLMETRY_OPERATIONS.get(kinds.traceloop ?? '') ??
    OPENLLMETRY_REQUESTS.get(request ?? '') ??
    null
  );
}

/** @param otherwise what a framework says where no attribute of a convention does */
function providerOf(attributes: Attributes, otherwise: string | null): string | null {
  const current = text(attributes, NAMES.provider);
  if (current !== null) return current;
  for (const older of [...NAMES.olderProvider.map((name) => text(attributes, [name])), otherwise]) {
    if (older === null) continue;
    const known = PROVIDERS.get(older.toLowerCase());
    if (known !== null) return known ?? older;
  }
  return null;
}

function portOf(attributes: Attributes): number | null {
  const port = count(attributes, NAMES.serverPort);
  return port !== null && port > 0 && port <= MAX_PORT ? port : null;
}

/** Whether the span stands for work inside this process that consists of other spans. */
function isEnclosing(span: OtlpSpan, operation: string | null): boolean {
  const kind = text(span.attributes, ['openinference.span.kind']);
  if (kind !== null) return ENCLOSING_KINDS.has(kind.toUpperCase());
  return ENCLOSING_OPERATIONS.has(operation ?? '') && span.kind !== 'client';
}

function named(kind: Use['kind'], name: string | null): Use[] {
  return name === null ? [] : [{ kind, name }];
}

/** The first of the attributes that is a string and not blank. */
function text(attributes: Attributes, names: readonly string[]): string | null {
  for (const name of names) {
    const value = attributes[name];
    if (typeof value === 'string' && value.trim() !== '') return nameOf(value);
  }
  return null;
}

/** Cut before and after: what is written visibly is longer. */
function nameOf(said: string): string {
  return cutName(visibleName(cutName(said))).trimEnd();
}

function cutName(name: string): string {
  // toWellFormed: the cut may have split a surrogate pair.
  return name.length <= MAX_NAME_CHARACTERS ? name : name.slice(0, MAX_NAME_CHARACTERS).toWellFormed();
}

/** The first of the attributes that is a whole number, not negative. */
function count(attributes: Attributes, names: readonly string[]): number | null {
  for (const name of names) {
    const value = attributes[name];
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  }
  return null;
}
