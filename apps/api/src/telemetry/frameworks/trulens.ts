import { asText } from '../reading/as-text.ts';
import type { Dialect } from '../reading/dialect.ts';

const SPAN_TYPE = 'ai.observability.span_type';

/**
 * TruLens (github.com/truera/trulens, src/otel/semconv and src/core/trulens/core/otel). A span is named after the function that it
 * records, and `gen_ai.tool.name` is that function: `my_agent.tools.get_weather`, or the method of LangChain that runs any tool.
 */
export const trulens: Dialect = {
  name: 'trulens',
  scopes: ['trulens'],
  // Both the tool of LangChain and its run have a span. They have different types.
  instrumentation: SPAN_TYPE,
  signature: ['ai.observability.*'],
  attributes: {
    operation: ['gen_ai.operation.name', SPAN_TYPE],
    responseModel: ['gen_ai.response.model', 'ai.observability.cost.model'],
    tool: ['ai.observability.mcp.tool_name', 'gen_ai.tool.name'],
    toolServer: ['ai.observability.mcp.server_name'],
    agent: ['gen_ai.agent.name', 'ai.observability.workflow.agent_name'],
    inputTokens: ['gen_ai.usage.input_tokens', 'ai.observability.cost.num_prompt_tokens'],
    outputTokens: ['gen_ai.usage.output_tokens', 'ai.observability.cost.num_completion_tokens'],
  },
  operations: {
    generation: 'chat',
    tool: 'execute_tool',
    mcp: 'execute_tool',
    agent: 'invoke_agent',
    reranking: null,
    retrieval: null,
    unknown: null,
  },
  content: [
    ...['args', 'kwargs', 'return'].map((part) => `ai.observability.call.${part}`),
    ...['input_arguments', 'output_content'].map((part) => `ai.observability.mcp.${part}`),
    ...['graph_node', 'graph_task', 'record_root', 'retrieval', 'workflow'].map((type) => `ai.observability.${type}`),
  ],
  safe: [SPAN_TYPE, 'ai.observability.cost.cost_currency'],
  alsoReads: ['ai.observability.call.function'],
  refine({ attributes }, facts) {
    // The models of several calls that one function made
    if (facts.model === 'mixed') Object.assign(facts, { model: null, responseModel: null });
    if (facts.operation !== 'execute_tool') return;
    const isOfFunction = attributes['ai.observability.mcp.tool_name'] === undefined;
    if (isOfFunction) facts.tool = facts.tool?.split('.').at(-1) ?? null;
    // LangGraph's node of tools, which is named after one of them. Each tool that it runs has a span inside.
    if (asText(attributes['ai.observability.call.function']).includes('RunnableCallable.')) facts.tool = null;
  },
};
