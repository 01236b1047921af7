import type { Dialect } from '../reading/dialect.ts';
import { isModelCall } from '../reading/operations.ts';
import { isInterruptOfLangGraph } from './langchain.ts';
import { isRejectedByOpenAiAgents } from './openai-agents.ts';

/**
 * Microsoft Agent Framework (github.com/microsoft/agent-framework, python/packages/core/agent_framework/observability.py and
 * dotnet), Semantic Kernel (github.com/microsoft/semantic-kernel, python/semantic_kernel/utils/telemetry and
 * dotnet/src/SemanticKernel.Abstractions/Functions/KernelFunction.cs; github.com/microsoft/semantic-kernel-java, FunctionSpan.java) and
 * AutoGen (github.com/microsoft/autogen, python/packages/autogen-core). All write OpenTelemetry GenAI, with the framework's name as
 * the vendor of agents and tools, except for the functions of Semantic Kernel for Java.
 */
export const microsoftAgents: Dialect = {
  name: 'microsoft-agents',
  scopes: [
    'agent_framework',
    'autogen-core',
    /^autogen[ _.]/,
    /^semantic_kernel(\.|$)/,
    /^Microsoft\.SemanticKernel/,
    'SemanticKernel',
    /^(Experimental\.)?Microsoft\.(Agents\.AI|Extensions\.AI)/,
  ],
  signature: ['workflow_builder.name', 'executor.id'],
  attributes: {
    workflow: ['gen_ai.workflow.name', 'workflow.name'],
    tool: ['gen_ai.tool.name', 'semantic_kernel.function.invocation.name'],
  },
  operations: {
    'chat.completions': 'chat',
    'chat.streaming_completions': 'chat',
    'text.completions': 'text_completion',
    'text.streaming_completions': 'text_completion',
  },
  vendors: { 'microsoft.agents.ai': null, 'microsoft.semantic_kernel': null },
  spanNames: [
    { pattern: /^workflow(?:[._]run|_invoke)/, operation: 'invoke_workflow' },
    { pattern: /^function_invocation /, operation: 'execute_tool' },
  ],
  content: [
    'workflow.definition',
    'workflow.description',
    'workflow_builder.description',
    'build.error.message',
    'executor.input',
    'executor.output',
    'gen_ai.agent.description',
    'gen_ai.tool.description',
  ],
  safe: [
    'workflow.id',
    'workflow_builder.name',
    'executor.id',
    'executor.type',
    'edge_group.id',
    'edge_group.type',
    'edge_group.delivery_status',
    'message.type',
    'message.payload_type',
    'message.source_id',
    'message.target_id',
    'message.destination_executor_id',
    'semantic_kernel.function.invocation.plugin_name',
  ],
  refine({ scope }, facts) {
    if (scope.name === SEMANTIC_KERNEL_DOTNET) facts.tool = facts.tool?.replace(RANDOM_NAME, '') ?? null;
  },
};

const SEMANTIC_KERNEL_DOTNET = 'Microsoft.SemanticKernel';

/** A prompt without a name is a function with a new name in every run, such as `InvokePromptAsync_` and 32 digits. */
const RANDOM_NAME = /(?<=^(?:Function|InvokePromptAsync|InvokePromptStreamingAsync))_[\da-f]{32}$/;

/**
 * Azure AI Agents (github.com/Azure/azure-sdk-for-python, sdk/ai/azure-ai-agents/azure/ai/agents/telemetry; JavaScript writes the
 * same). The service runs the agent. Each request about a run names the model, and only that with the finished run has tokens.
 */
export const azureAgents: Dialect = {
  name: 'azure-agents',
  signature: ['gen_ai.thread.run.id', 'gen_ai.thread.run.status'],
  attributes: { callId: ['gen_ai.tool.call.id', 'gen_ai.thread.run.id'] },
  safe: ['gen_ai.thread.id', 'gen_ai.thread.run.id', 'gen_ai.thread.run.status', 'gen_ai.message.id', 'az.namespace'],
  uses: (_span, { operation, inputTokens }, usual) =>
    inputTokens === null && !isModelCall(operation) ? usual.filter(({ kind }) => kind !== 'model') : usual,
};

/**
 * The instrumentation of the OpenAI Agents SDK in Microsoft's OpenTelemetry distribution for Node.js
 * (github.com/microsoft/opentelemetry-distro-javascript, src/genai/instrumentations/openai). It writes OpenTelemetry GenAI, with
 * two exceptions: the list of an MCP server's tools is a span `execute_tool <server>` of the type `extension`, and a handoff is a
 * client span `invoke_agent`, beside the span of the agent itself.
 */
export const microsoftOpentelemetry: Dialect = {
  name: 'microsoft-opentelemetry',
  scopes: ['microsoft-otel-openai-agents'],
  alsoReads: ['gen_ai.tool.type'],
  wasRejected: isRejectedByOpenAiAgents,
  uses({ kind, attributes }, { operation }, usual) {
    const listsTools = operation === 'execute_tool' && attributes['gen_ai.tool.type'] === 'extension';
    const isHandoff = operation === 'invoke_agent' && kind === 'client';
    return listsTools || isHandoff ? [] : usual;
  },
};

/**
 * The instrumentation of LangChain in Microsoft's OpenTelemetry distribution for Node.js
 * (github.com/microsoft/opentelemetry-distro-javascript, src/genai/instrumentations/langchain). It writes OpenTelemetry GenAI.
 */
export const langchainMicrosoft: Dialect = {
  name: 'langchain-microsoft',
  scopes: ['microsoft-otel-langchain'],
  alsoReads: ['error.message'],
  wasRejected: ({ attributes }) => isInterruptOfLangGraph(attributes['error.message']),
};
