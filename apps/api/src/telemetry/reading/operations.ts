/** Values of `gen_ai.operation.name`. Senders may write them in any case. */
const OPERATIONS = new Set([
  'chat',
  'create_agent',
  'embeddings',
  'execute_tool',
  'generate_content',
  'invoke_agent',
  'invoke_workflow',
  'plan',
  'retrieval',
  'text_completion',
]);

/** A tool of the framework that runs an agent. The agent usually has its own span inside the tool's span. */
export const DELEGATE = 'delegate';

/** The call around the span was rejected by the user or a rule, unless there are spans inside it. */
export const REJECTION = 'rejection';

/** The tool call around the span failed, if the span did. */
export const FAILURE = 'failure';

const MODEL_CALLS = new Set(['chat', 'embeddings', 'generate_content', 'text_completion']);

/** A longer text cannot be the spelling of an operation. */
const MAX_SPELLING = 32;

/**
 * A conventional operation in lower case, also if it is written as `executeTool`, `ExecuteTool`, `execute-tool` or `execute
 * tool`. Other operations stay as they are written.
 */
export function canonicalOperation(text: string): string {
  const written = text.trim();
  if (OPERATIONS.has(written.toLowerCase())) return written.toLowerCase();
  if (written.length > MAX_SPELLING) return text;
  const spelled = written
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll(/[\s.-]+/g, '_')
    .toLowerCase();
  return OPERATIONS.has(spelled) ? spelled : text;
}

export function isKnownOperation(operation: string): boolean {
  return OPERATIONS.has(operation);
}

/** Whether a value of `gen_ai.operation.name` says that a model is called. */
export function isModelCall(operation: unknown): boolean {
  return typeof operation === 'string' && MODEL_CALLS.has(canonicalOperation(operation));
}

/** An operation as dialects list it: in lower case, and without quotes. */
export function operationKey(text: string): string {
  return withoutQuotes(text.trim().toLowerCase());
}

/** A text without the quotes of a JSON string. MLflow writes every value as JSON. */
export function withoutQuotes(text: string): string {
  return text.length > 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}
