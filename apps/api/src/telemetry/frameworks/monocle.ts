import type { Dialect, ReadSource } from '../reading/dialect.ts';
import { asCount } from '../reading/fact-slots.ts';

/**
 * Monocle (github.com/monocle2ai/monocle, apptrace/src/monocle_apptrace/instrumentation). A span has numbered entities:
 * `entity.1.type` and `entity.1.name`. The type of the span says which of them is called. The tokens are in an event.
 */
export const monocle: Dialect = {
  name: 'monocle',
  scopes: ['monocle_apptrace'],
  signature: ['entity.1.type'],
  attributes: {
    operation: ['gen_ai.operation.name', 'span.type'],
    vendor: ['gen_ai.provider.name', 'entity.1.provider_name'],
  },
  operations: {
    inference: 'chat',
    'inference.framework': 'chat',
    embedding: 'embeddings',
    'agentic.invocation': 'invoke_agent',
    'agentic.tool.invocation': 'execute_tool',
    'agentic.mcp.invocation': 'execute_tool',
    'agentic.delegation': 'handoff',
    'agentic.turn': null,
    workflow: null,
    generic: null,
  },
  content: ['input', 'response', 'output', 'error_code'],
  safe: ['span.type', 'span.subtype', 'workflow.name'],
  alsoReads: ['entity.2.name', 'entity.2.type', 'entity.1.name', 'entity.1.server_name'],
  refine(span, facts) {
    const { operation } = facts;
    if (operation === 'invoke_agent') facts.agent ??= entityOf(span, 'agent.');
    if (operation === 'execute_tool') {
      facts.tool ??= entityOf(span, 'tool.') ?? entityOf(span, 'mcp.');
      facts.toolServer ??= textOf(span.attributes['entity.1.server_name']);
    }
    if (operation !== 'chat' && operation !== 'embeddings') return;
    facts.model ??= entityOf(span, 'model.');
    const usage = span.events?.find(({ name }) => name === 'metadata')?.attributes ?? {};
    facts.inputTokens ??= asCount(usage['prompt_tokens']);
    facts.outputTokens ??= asCount(usage['completion_tokens']);
  },
};

const MAX_ENTITIES = 8;

/** The name of the first entity of a type. */
function entityOf({ attributes }: ReadSource, type: string): string | null {
  for (let index = 1; index <= MAX_ENTITIES; index += 1) {
    if (textOf(attributes[`entity.${index}.type`])?.startsWith(type)) return textOf(attributes[`entity.${index}.name`]);
  }
  return null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}
