import { ownMember } from '../../platform/own-member.ts';
import type { AttributeValue } from '../otlp/span.ts';
import { withPublicUrls } from '../urls.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect, ReadSource } from '../reading/dialect.ts';
import type { Facts } from '../reading/facts.ts';
import { FUNCTION_NAMES } from '../reading/function-names.ts';
import { parsedAttribute, readInside } from '../reading/inside.ts';
import { vendorInSpanName } from '../reading/span-subject.ts';

const KIND_OF_RESPAN = 'respan.entity.log_type';

/**
 * OpenLLMetry (github.com/traceloop/openllmetry, opentelemetry-semantic-conventions-ai), which adds to GenAI. Respan's instrumentations
 * (github.com/respanai/respan) write the same names, but the kind of a span in an attribute of their own.
 */
export const openllmetry: Dialect = {
  name: 'openllmetry',
  scopes: [/^@traceloop\//, 'traceloop.tracer'],
  signature: ['traceloop.*', 'llm.request.type'],
  attributes: {
    operation: ['gen_ai.operation.name', 'traceloop.span.kind', 'llm.request.type', KIND_OF_RESPAN],
    agent: ['gen_ai.agent.name', 'crewai.agent.role'],
    // The tool that a step of LlamaIndex calls.
    tool: ['gen_ai.tool.name', 'tool.name'],
    toolServer: ['mcp.server.name', 'respan.metadata#mcp_data.server'],
    model: ['gen_ai.request.model', 'llm.request.model'],
    responseModel: ['gen_ai.response.model', 'llm.response.model'],
    // The base URL of OpenAI's client.
    serverAddress: ['server.address', 'gen_ai.openai.api_base', 'llm.openai.api_base'],
  },
  // The id of a run.
  ignores: ['gen_ai.agent.id'],
  operations: {
    tool: 'execute_tool',
    agent: 'invoke_agent',
    workflow: 'invoke_workflow',
    task: null,
    completion: 'text_completion',
    embedding: 'embeddings',
    rerank: null,
    unknown: null,
    function: 'execute_tool',
    generation: 'chat',
    response: 'chat',
    text: 'chat',
    custom: null,
  },
  content: [
    'traceloop.entity.input',
    'traceloop.entity.output',
    'traceloop.prompt.template',
    'traceloop.prompt.template_variables',
    'traceloop.association.properties',
    'respan.metadata',
    'llm.prompts',
    'llm.completions',
    'llm.request.functions',
    'llm.content.completion.chunk',
    'llm.headers',
    'db.query.result.document',
    'db.query.result.metadata',
    'db.search.result.entity',
  ],
  safe: [
    'traceloop.span.kind',
    KIND_OF_RESPAN,
    'traceloop.entity.name',
    'traceloop.entity.path',
    'traceloop.workflow.name',
  ],
  alsoReads: ['traceloop.entity.name', 'traceloop.entity.input', 'traceloop.entity.output'],
  countsOf: ({ scope }) => (scope.name === '@traceloop/instrumentation-anthropic' ? 'anthropic' : null),
  refine(span, facts) {
    const { attributes, scope } = span;
    if (OF_MCP.test(scope.name)) readMcpRequest(span, facts);
    const kind = asText(attributes['traceloop.span.kind'] ?? attributes[KIND_OF_RESPAN]).toLowerCase();
    const named = attributes['traceloop.entity.name'];
    if (typeof named === 'string') {
      // The instrumentation of LlamaIndex for Python adds the kind: `FunctionAgent.workflow`.
      const entity = named.replace(/(?<=.)\.(?:agent|tool|workflow)$/, '');
      if (kind === 'tool' || kind === 'function') facts.tool ??= entity;
      if (kind === 'agent') facts.agent ??= entity;
      if (kind === 'workflow') facts.workflow ??= entity;
    }
    if (facts.model !== null && facts.tool === null) facts.vendor ??= vendorInSpanName(span.name);
    // LangChain's tools are named after their class. The name of a tool is in the message with its result.
    if (facts.operation === 'execute_tool' && facts.tool === null) {
      const message = resultIn(attributes['traceloop.entity.output']);
      const [name, callId] = [ownMember(message, 'name'), ownMember(message, 'tool_call_id')];
      if (typeof name === 'string' && FUNCTION_NAMES.tool.test(name)) facts.tool = name;
      if (typeof callId === 'string') facts.callId ??= callId;
    }
    // Every conversation is a workflow here, whose name is only an id.
    if (facts.workflow === `conversation.${facts.conversationId}`) facts.workflow = null;
  },
};

/** The message with a tool's result. A handoff of LangGraph answers with a command, whose last message it is. */
function resultIn(output: AttributeValue | undefined): unknown {
  const parsed = parsedAttribute(output);
  const messages = ownMember(ownMember(parsed, 'update'), 'messages');
  return ownMember(Array.isArray(messages) ? messages.at(-1) : parsed, 'kwargs');
}

const OF_MCP = /instrumentation[-.]mcp$/;

/** A request to an MCP server that calls no tool is named after its method: `resources/read.mcp`. */
function readMcpRequest({ name, attributes }: ReadSource, facts: Facts): void {
  const [, method = null] = /^([a-z]+\/[a-z]+)\.mcp$/.exec(name) ?? [];
  if (method === null) return;
  facts.mcpMethod = method;
  const input = attributes['traceloop.entity.input'];
  const uri = readInside(input, ['uri']);
  if (method.startsWith('resources/') && typeof uri === 'string') facts.mcpResource = withPublicUrls(uri);
  const prompt = readInside(input, ['name']);
  if (method === 'prompts/get' && typeof prompt === 'string' && FUNCTION_NAMES.tool.test(prompt)) facts.prompt = prompt;
}
