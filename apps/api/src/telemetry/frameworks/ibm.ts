import type { Attributes } from '../otlp/span.ts';
import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';
import { DELEGATE } from '../reading/operations.ts';
import { subjectIn } from '../reading/span-subject.ts';

/**
 * BeeAI with OpenInference's instrumentation (github.com/Arize-ai/openinference,
 * js/packages/openinference-instrumentation-beeai). Every event of the framework has a span, so one call has several: started,
 * succeeded or failed, finished. `target` is the path of the event. Names of tools in it are in camel case, because paths
 * contain only letters.
 */
export const beeai: Dialect = {
  name: 'beeai',
  scopes: ['@arizeai/openinference-instrumentation-beeai'],
  signature: ['beeai.version'],
  readsAlone: true,
  attributes: {
    vendor: ['llm.provider', 'metadata.provider'],
    model: ['llm.model_name', 'metadata.model_name'],
    inputTokens: ['llm.token_count.prompt'],
    outputTokens: ['llm.token_count.completion'],
    errorType: ['exception.type'],
  },
  content: [
    'input.value',
    'output.value',
    'llm.input_messages',
    'llm.output_messages',
    'llm.invocation_parameters',
    'llm.tools',
    'tool.parameters',
    'metadata',
    'data',
    'history',
    'thought',
  ],
  safe: ['target', 'name', 'source', 'traceId', 'beeai.version', 'openinference.span.kind', 'input.mime_type'],
  alsoReads: ['target', 'source', 'openinference.span.kind'],
  refine({ attributes }, facts) {
    const call = callOf(attributes);
    if (call?.area === 'backend') facts.operation = call.name === 'chat' ? 'chat' : 'embeddings';
    if (call?.area === 'tool') {
      facts.operation = 'execute_tool';
      facts.tool = call.name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    }
    if (isAgentRun(attributes)) {
      facts.operation = 'invoke_agent';
      facts.agent = asText(attributes['source'] ?? '') || null;
    }
  },
  uses: ({ attributes }, _facts, usual) => (callOf(attributes) || isAgentRun(attributes) ? usual : []),
};

/** Whether a span is the whole run of an agent. A model or tool that runs alone also has such a span, around its call. */
function isAgentRun({ target, 'openinference.span.kind': kind }: Attributes): boolean {
  return target === undefined && asText(kind).toUpperCase() === 'AGENT';
}

/** The call that succeeded or failed. The spans of its start and its end report the same call, so they are not read. */
function callOf({ target }: Attributes): { area: 'backend' | 'tool'; name: string } | null {
  const path = typeof target === 'string' ? CALL_END_EVENT.exec(target)?.groups : undefined;
  const { area, name = '' } = path ?? {};
  // `finalAnswer` is a tool of the framework, by which an agent returns its answer.
  if ((area !== 'backend' && area !== 'tool') || name === 'finalAnswer') return null;
  return { area, name };
}

const CALL_END_EVENT = /^(?<area>backend|tool)\.(?:\w+\.)?(?<name>[a-zA-Z_]+)\.(?:success|error)$/;

const STEP = /^(?:tool\.(?:lookup|gateway_call|post_process)|mcp\.client\.(?:request|response))$/;

/**
 * ContextForge, IBM's gateway (github.com/IBM/mcp-context-forge, mcpgateway/services/tool_service.py, a2a_service.py and
 * llm_proxy_service.py). A call of a tool is `tool.invoke`, with a span for each of its steps. The request to an MCP server is
 * inside it, under the name that the server gives to the tool. Only this request counts then.
 */
export const contextforge: Dialect = {
  name: 'contextforge',
  scopes: ['mcp-gateway'],
  signature: ['contextforge.*'],
  attributes: { agent: ['a2a.agent.name'] },
  safe: [
    'tool.id',
    'tool.integration_type',
    'tool.gateway_id',
    'contextforge.tool.id',
    'contextforge.gateway_id',
    'contextforge.runtime',
    'contextforge.transport',
    'a2a.agent.id',
    'a2a.agent.type',
  ],
  alsoReads: ['tool.name', 'tool.integration_type'],
  refine({ name, attributes }, facts) {
    if (STEP.test(name)) facts.tool = null;
    if (name === 'a2a.invoke') facts.operation = 'invoke_agent';
    const { 'tool.name': tool, 'tool.integration_type': type } = attributes;
    if (name !== 'tool.invoke' || typeof tool !== 'string' || type === 'MCP') return;
    facts.tool = tool;
    // A tool of the type A2A calls an agent.
    facts.operation = type === 'A2A' ? DELEGATE : 'execute_tool';
  },
};

/** The id of a component, after its name: `Agent (Agent-x1Y2z)`. */
const ID_OF_COMPONENT = /\s*\([\w-]+\)$/;

/**
 * The components of a flow of Langflow (github.com/langflow-ai/langflow, src/backend/base/langflow/services/tracing), as its tracers
 * for Arize and Phoenix and for Traceloop write them. Both switch on an instrumentation of LangChain, whose spans report the calls.
 * So the component of a model does not count, and neither does that of a tool, which only makes the tool.
 */
export const langflow: Dialect = {
  name: 'langflow',
  scopes: ['langflow', 'langflow.services.tracing.arize_phoenix', 'langflow.services.tracing.traceloop'],
  attributes: { operation: ['openinference.span.kind', 'trace_type'] },
  operations: { agent: 'invoke_agent' },
  safe: ['trace_type', 'vertex_id'],
  readsAlone: true,
  refine({ name }, facts) {
    if (facts.operation === 'invoke_agent') facts.agent ??= subjectIn(name.replace(ID_OF_COMPONENT, ''));
  },
  uses: (_span, { operation }, usual) => (operation === 'invoke_agent' ? usual : []),
};
