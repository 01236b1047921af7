import type { Dialect } from './dialect.ts';

/**
 * Microsoft Agent Framework (github.com/microsoft/agent-framework, python/packages/core/agent_framework/observability.py and
 * dotnet), Semantic Kernel (github.com/microsoft/semantic-kernel, python/semantic_kernel/utils/telemetry) and AutoGen
 * (github.com/microsoft/autogen, python/packages/autogen-core). All write OpenTelemetry GenAI, with the framework's name as
 * the vendor of agents and tools.
 */
export const microsoftAgents: Dialect = {
  name: 'microsoft-agents',
  scopes: [
    'agent_framework',
    'autogen-core',
    /^autogen[ _.]/,
    /^semantic_kernel(\.|$)/,
    /^Microsoft\.SemanticKernel/,
    /^(Experimental\.)?Microsoft\.(Agents\.AI|Extensions\.AI)/,
  ],
  signature: ['workflow_builder.name', 'executor.id'],
  attributes: { workflow: ['gen_ai.workflow.name', 'workflow.name'] },
  operations: {
    'chat.completions': 'chat',
    'chat.streaming_completions': 'chat',
    'text.completions': 'text_completion',
    'text.streaming_completions': 'text_completion',
  },
  vendors: { 'microsoft.agents.ai': null, 'microsoft.semantic_kernel': null },
  spanNames: [{ pattern: /^workflow(?:[._]run|_invoke)/, operation: 'invoke_workflow' }],
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
  ],
};
