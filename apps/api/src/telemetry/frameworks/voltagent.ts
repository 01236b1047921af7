import type { Dialect } from '../reading/dialect.ts';
import { DELEGATE } from '../reading/operations.ts';
import { vendorIn } from '../reading/vendors.ts';

/**
 * VoltAgent (github.com/VoltAgent/voltagent, packages/core/src/agent/open-telemetry and agent.ts). The entity of a span is the
 * agent or workflow that it belongs to. A span without a type is the entity's own span. Inside a sub-agent, the entity is the
 * calling agent.
 */
export const voltagent: Dialect = {
  name: 'voltagent',
  scopes: [/^@voltagent\//],
  signature: ['voltagent.*', 'llm.model_index'],
  attributes: {
    operation: ['span.type'],
    vendor: ['llm.provider', 'ai.model.provider'],
    model: ['llm.model', 'embedding.model', 'ai.model.name'],
    agent: ['subagent.name', 'entity.name'],
    agentId: ['subagent.id', 'entity.id'],
    tool: ['tool.name'],
    callId: ['tool.call.id'],
    conversationId: ['conversation.id'],
    inputTokens: ['llm.usage.prompt_tokens', 'usage.prompt_tokens'],
    outputTokens: ['llm.usage.completion_tokens', 'usage.completion_tokens'],
  },
  operations: {
    llm: 'chat',
    tool: 'execute_tool',
    retriever: 'retrieval',
    embedding: 'embeddings',
    memory: null,
    guardrail: null,
    middleware: null,
    summary: null,
    scorer: null,
    'workflow-step': null,
  },
  content: [
    'input',
    'output',
    'agent.context',
    'agent.instructions',
    'agent.messages',
    'agent.stateSnapshot',
    'agent.summary',
    'agent.workingMemory.content',
    'agent.workingMemory.finalContent',
    'llm.messages',
    'llm.provider_options',
    'llm.stop_condition',
    'tool.description',
    'tool.parameters',
    'tool.search.query',
    'guardrail.input',
    'guardrail.output',
    'guardrail.message',
    'guardrail.reason',
    'guardrail.metadata',
    'guardrail.result.metadata',
    'guardrail.chunk.text',
    'middleware.input',
    'middleware.output',
    'middleware.metadata',
    'eval.input',
    'eval.output',
    'eval.expected',
    'workflow.context',
    'workflow.state',
    'workflow.stateSnapshot',
    'workflow.step.state',
    'error.message',
    'error.stack',
  ],
  safe: [
    'span.type',
    'span.label',
    'entity.type',
    'operation.id',
    'subagent.type',
    'agent.state',
    'agent.parent.id',
    'agent.parent.name',
    'voltagent.operation_id',
    'voltagent.conversation_id',
    'llm.operation',
    'llm.finish_reason',
    'ai.response.finish_reason',
    'memory.operation',
    'workflow.execution.id',
    'workflow.step.id',
    'workflow.step.name',
    'workflow.step.type',
    'retriever.name',
    'guardrail.id',
    'guardrail.name',
    'guardrail.action',
  ],
  alsoReads: ['entity.type'],
  refine({ attributes }, facts) {
    const isWorkflow = attributes['entity.type'] === 'workflow';
    if (isWorkflow) Object.assign(facts, { workflow: facts.agent, agent: null, agentId: null });
    if (attributes['span.type'] === undefined) facts.operation = isWorkflow ? 'invoke_workflow' : 'invoke_agent';
    // `delegate_task` passes a task to sub-agents, which usually have their own spans.
    if (facts.tool === 'delegate_task') facts.operation = DELEGATE;
    // The span of a model call has the tokens of its last request, that of the agent the sum of all.
    if (attributes['span.type'] === 'llm') Object.assign(facts, { inputTokens: null, outputTokens: null });
    // The model router writes the provider in front of the model.
    const [, provider, model] = /^([^/]+)\/(.+)$/.exec(facts.model ?? '') ?? [];
    if (provider && model) {
      facts.vendor ??= vendorIn(provider);
      facts.model = model;
    }
  },
  uses(_span, { operation, model, inputTokens }, usual) {
    const hasSum = operation === 'invoke_agent' && model !== null && inputTokens !== null;
    return hasSum ? [...usual, { kind: 'model', name: model, times: 0 }] : usual;
  },
};
