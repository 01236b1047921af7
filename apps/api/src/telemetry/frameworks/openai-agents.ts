import type { Dialect, ReadSource } from '../reading/dialect.ts';
import type { Use } from '../reading/facts.ts';
import { addServerTools, serverToolsIn } from '../reading/server-tools.ts';
import { openinference } from './openinference.ts';

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

/**
 * Coralogix's instrumentation of the OpenAI Agents SDK (github.com/coralogix/llm-tracekit,
 * instrumentations/openai-agents/src/llm_tracekit/openai_agents/tracing_processor.py). Only the spans of models have names of
 * OpenTelemetry. Coralogix's other instrumentations need no dialect.
 */
export const llmTracekit: Dialect = {
  name: 'llm-tracekit',
  scopes: ['llm_tracekit.openai_agents.instrumentor'],
  spanNames: [
    { pattern: /^Tool - (?<tool>.+)$/, operation: 'execute_tool' },
    { pattern: /^Agent - (?<agent>.+)$/, operation: 'invoke_agent' },
  ],
  content: ['input', 'output'],
  safe: ['type'],
  wasRejected: isRejectedByOpenAiAgents,
};

/**
 * Latitude's tracing processor for the OpenAI Agents SDK (@latitude-data/telemetry on npm). Its models have OpenTelemetry's names,
 * its agents and tools do not.
 */
export const latitude: Dialect = {
  name: 'latitude',
  scopes: ['so.latitude.instrumentation.openai-agents'],
  attributes: {
    operation: ['gen_ai.operation.name', 'latitude.span.kind'],
    agent: ['openai.agents.name'],
    tool: ['openai.agents.function.name'],
    toolServer: ['openai.agents.function.mcp_data#server'],
  },
  operations: { 'agents.agent': 'invoke_agent', 'agents.function': 'execute_tool' },
  content: [
    'openai.agents.audio',
    'openai.agents.custom',
    'openai.agents.function.input',
    'openai.agents.function.mcp_data',
    'openai.agents.function.output',
    'openai.agents.trace_metadata',
  ],
};

const SPAN_TYPE_OF_NETRA = 'netra.agents.span_type';
const LIST_OF_TOOLS = 'mcp_list_tools';

/**
 * Netra's instrumentation of the OpenAI Agents SDK (github.com/KeyValueSoftwareSystems/netra-sdk-js, src/instrumentation/openai-agents).
 * A request for the tools of an MCP server names the server as a tool. Netra's other spans are read as those of other frameworks.
 */
export const netra: Dialect = {
  name: 'netra',
  scopes: ['netra.instrumentation.openai_agents'],
  attributes: { operation: [SPAN_TYPE_OF_NETRA] },
  operations: {
    agent: 'invoke_agent',
    function: 'execute_tool',
    generation: 'chat',
    response: 'chat',
    handoff: null,
    guardrail: null,
    custom: null,
  },
  content: ['netra.custom.data', 'netra.agents.metadata'],
  refine({ attributes }, facts) {
    if (attributes[SPAN_TYPE_OF_NETRA] === LIST_OF_TOOLS) facts.tool = null;
  },
};

const COMPLETIONS = 'openai_agents.generation.raw_output_json';

/**
 * PromptLayer's tracing processor for the OpenAI Agents SDK (promptlayer on npm, promptlayer/openai-agents). It sends every span
 * of the SDK, with its data as JSON texts.
 */
export const promptlayer: Dialect = {
  name: 'promptlayer',
  scopes: ['promptlayer.integrations.openai_agents'],
  attributes: {
    operation: ['openai_agents.span_type'],
    agent: ['openai_agents.agent.name'],
    tool: ['openai_agents.function.name'],
    toolServer: ['openai_agents.function.mcp_data_json#server'],
    conversationId: ['openai_agents.group_id'],
    // The span of a chat completion has its tokens only in the answer.
    inputTokens: ['gen_ai.usage.input_tokens', `${COMPLETIONS}#0.usage.prompt_tokens`],
    outputTokens: ['gen_ai.usage.output_tokens', `${COMPLETIONS}#0.usage.completion_tokens`],
  },
  operations: {
    agent: 'invoke_agent',
    function: 'execute_tool',
    generation: 'chat',
    response: 'chat',
    custom: null,
    guardrail: null,
    mcp_tools: null,
    speech: null,
    speech_group: null,
    task: null,
    transcription: null,
    turn: null,
  },
  content: [
    'function_input',
    'function_output',
    'openai_agents.agent.output_type',
    'openai_agents.custom.data_json',
    'openai_agents.error_json',
    'openai_agents.function.input',
    'openai_agents.function.output',
    'openai_agents.function.mcp_data_json',
    'openai_agents.generation',
    'openai_agents.metadata_json',
    'openai_agents.model_config_json',
    'openai_agents.raw_json',
    'openai_agents.response.raw_json',
  ],
  safe: [
    'node_type',
    'tool_name',
    'promptlayer.telemetry.source',
    'promptlayer.telemetry.source_version',
    'openai_agents.span_id_original',
    'openai_agents.parent_id_original',
    'openai_agents.trace_id_original',
    'openai_agents.workflow_name',
    'openai_agents.response.object',
    'openai_agents.handoff.from_agent',
    'openai_agents.handoff.to_agent',
    'openai_agents.guardrail.name',
  ],
  answer: 'openai_agents.response.raw_json',
};

/** The message of an error in which the OpenAI Agents SDK rejects a call. Its data may follow as JSON, or as Python writes it. */
const REJECTION = /^Tool execution was not approved\.(?:$|: \{)/;

/**
 * Whether the status is that of a tool call that a person rejected in the OpenAI Agents SDK (github.com/openai/openai-agents-js,
 * packages/agents-core/src/runner/toolExecution.ts). The message of any other failure begins with `Error running tool`, or with
 * `MCP error` if the application handles errors itself. So the text of a tool or an MCP server cannot begin like this.
 */
export function isRejectedByOpenAiAgents({ status }: ReadSource): boolean {
  return status?.code === 'error' && REJECTION.test(status.message ?? '');
}
