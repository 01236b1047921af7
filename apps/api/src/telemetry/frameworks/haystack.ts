import type { Dialect } from '../reading/dialect.ts';

/**
 * Haystack (github.com/deepset-ai/haystack, haystack/core/pipeline/base.py, haystack/components/agents). The scope is the
 * application's. No span names a model: it stands in the answer only.
 */
export const haystack: Dialect = {
  name: 'haystack',
  signature: ['haystack.*'],
  attributes: { tool: ['gen_ai.tool.name', 'haystack.tool.name'] },
  content: [
    'haystack.pipeline.input_data',
    'haystack.pipeline.output_data',
    'haystack.pipeline.metadata',
    'haystack.component.input',
    'haystack.component.output',
    'haystack.component.input_spec',
    'haystack.component.output_spec',
    'haystack.agent.tools',
    'haystack.agent.state_schema',
    'haystack.agent.input',
    'haystack.agent.output',
    'haystack.agent.step.llm',
    'haystack.agent.step.tool',
    'haystack.tool.description',
  ],
  safe: ['haystack.component.name', 'haystack.component.type', 'haystack.component.fully_qualified_type'],
  alsoReads: ['haystack.component.name', 'haystack.component.type'],
  refine({ attributes }, facts) {
    const { 'haystack.component.type': type, 'haystack.component.name': name } = attributes;
    if (type !== 'Agent' || typeof name !== 'string') return;
    facts.operation = 'invoke_agent';
    facts.agent ??= name;
  },
};
