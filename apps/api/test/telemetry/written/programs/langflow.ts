import { CONTENT, type Program } from '../program.ts';

/** A call of the model, as OpenInference's instrumentation of LangChain writes it. */
const CALL = {
  scope: 'openinference.instrumentation.langchain',
  name: 'ChatOpenAI',
  attributes: {
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'gpt-5-mini',
    'llm.provider': 'openai',
    'llm.token_count.prompt': 21n,
    'llm.token_count.completion': 8n,
    'input.value': CONTENT,
    'output.value': CONTENT,
  },
};

/** A flow has a span for each of its components. OpenInference's instrumentation of LangChain writes the calls. */
export const langflow: Program = {
  id: 'langflow',
  framework: 'Langflow with its tracer for Phoenix',
  version: 'August 2026',
  source:
    'github.com/langflow-ai/langflow, src/backend/base/langflow/services/tracing/arize_phoenix.py, src/lfx/src/lfx/base/agents/agent.py',
  setUp: `\`\`\`sh
# Langflow sends Phoenix's key and no other headers. Let a collector forward /v1/traces to <Quartermaster's URL>/v1/traces with
# the header x-api-key: <key>.
export PHOENIX_COLLECTOR_ENDPOINT=<a collector> PHOENIX_API_KEY=<any value>
\`\`\``,
  cannotKnow: ['No span names the MCP server of a tool.'],
  scope: 'langflow.services.tracing.arize_phoenix',
  spans: [
    {
      name: 'Langflow',
      attributes: {
        'openinference.span.kind': 'chain',
        'session.id': 's',
        'langflow.trace_name': CONTENT,
        'langflow.session_id': CONTENT,
        'langflow.flow_name': CONTENT,
        'input.value': CONTENT,
        'output.value': CONTENT,
      },
      inside: [
        {
          name: 'Chat Input (ChatInput-a1B2c)',
          attributes: { 'openinference.span.kind': 'chain', 'input.value': CONTENT, vertex_id: 'ChatInput-a1B2c' },
        },
        {
          name: 'Calculator (CalculatorComponent-a1B2c)',
          attributes: {
            'openinference.span.kind': 'tool',
            'input.value': CONTENT,
            vertex_id: 'CalculatorComponent-a1B2c',
          },
        },
        {
          name: 'Language Model (LanguageModelComponent-a1B2c)',
          attributes: {
            'openinference.span.kind': 'llm',
            'input.value': CONTENT,
            'metadata.provider': 'OpenAI',
            'metadata.model_name': 'gpt-5-mini',
            vertex_id: 'LanguageModelComponent-a1B2c',
          },
          inside: [CALL],
        },
        {
          name: 'Agent (Agent-a1B2c)',
          attributes: {
            'openinference.span.kind': 'agent',
            'input.value': CONTENT,
            'output.value': CONTENT,
            'metadata.agent_llm': 'OpenAI',
            'metadata.model_name': 'gpt-5-mini',
            vertex_id: 'Agent-a1B2c',
          },
          inside: [
            CALL,
            {
              scope: 'openinference.instrumentation.langchain',
              name: 'evaluate_expression',
              attributes: {
                'openinference.span.kind': 'TOOL',
                'tool.name': 'evaluate_expression',
                'input.value': CONTENT,
                'output.value': CONTENT,
              },
            },
          ],
        },
      ],
    },
  ],
  models: [{ name: 'gpt-5-mini', vendor: 'openai', calls: 2, failed: 0, inputTokens: 42, outputTokens: 16 }],
  tools: [{ name: 'evaluate_expression', calls: 1 }],
  agents: ['Agent'],
};
