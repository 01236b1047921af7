import type { Dialect } from '../reading/dialect.ts';
import { readModelStep, withGoogleTools } from './mastra.ts';
import { DELEGATE } from '../reading/operations.ts';

/** The metadata of a step that names its model. */
const MODEL_OF_STEP = 'lmnr.association.properties.metadata.modelMetadata';

/** The body of the vendor's answer. */
const BODY_OF_STEP = 'lmnr.association.properties.metadata.body';

/**
 * Mastra with `@mastra/laminar` (github.com/mastra-ai/mastra, observability/laminar/src/tracing.ts). Agents and tools are named by
 * the names of their spans only. A model's span has the tokens and covers all requests of a run. Each request is a step inside it.
 */
export const mastraLaminar: Dialect = {
  name: 'mastra-laminar',
  scopes: ['@mastra/laminar'],
  spanNames: [
    { pattern: /^agent run: '(?<agent>[^']+)'$/, operation: 'invoke_agent' },
    { pattern: /^workflow run: '(?<workflow>[^']+)'$/, operation: 'invoke_workflow' },
    { pattern: /^mcp_tool: '(?<tool>[^']+)' on '(?<toolServer>[^']+)'$/, operation: 'execute_tool' },
    { pattern: /^(?:client_tool|provider_tool|tool): '(?<tool>[^']+)'$/, operation: 'execute_tool' },
    { pattern: /^llm: /, operation: 'chat' },
  ],
  content: [
    'lmnr.span.input',
    'lmnr.span.output',
    'lmnr.span.path',
    'lmnr.association.properties.metadata',
    'lmnr.association.properties.tags',
  ],
  safe: ['lmnr.span.type', 'lmnr.span.instrumentation_source', 'lmnr.span.sdk_version', 'lmnr.span.language_version'],
  alsoReads: [MODEL_OF_STEP, BODY_OF_STEP],
  refine({ name, attributes }, facts) {
    if (name.startsWith('step: ')) readModelStep(attributes[MODEL_OF_STEP], facts);
    if (name.startsWith('provider_tool: ')) facts.toolRunsAt = 'vendor';
    if (facts.toolServer === null && /^(?:agent|workflow)-/.test(facts.tool ?? '')) facts.operation = DELEGATE;
  },
  uses: ({ attributes }, facts, usual) => withGoogleTools(facts, usual, attributes[BODY_OF_STEP]),
};
