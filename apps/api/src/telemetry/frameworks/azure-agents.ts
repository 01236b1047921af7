import type { Dialect } from '../reading/dialect.ts';
import { isModelCall } from '../reading/operations.ts';

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
