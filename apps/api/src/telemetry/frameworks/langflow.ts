import type { Dialect } from '../reading/dialect.ts';
import { subjectIn } from '../reading/span-subject.ts';

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
