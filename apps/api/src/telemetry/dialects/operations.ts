/** Values of `gen_ai.operation.name`, in whichever case they are written. */
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

/** A tool of the framework that runs an agent, which usually has a span of its own inside the tool's. */
export const DELEGATE = 'delegate';

const MODEL_CALLS = new Set(['chat', 'embeddings', 'generate_content', 'text_completion']);

/** An operation of the conventions in lower case; any other as it is written. */
export function canonicalOperation(text: string): string {
  const operation = text.trim().toLowerCase();
  return OPERATIONS.has(operation) ? operation : text;
}

export function isKnownOperation(operation: string): boolean {
  return OPERATIONS.has(operation);
}

/** Whether a value of `gen_ai.operation.name` says that a model is called. */
export function isModelCall(operation: unknown): boolean {
  return typeof operation === 'string' && MODEL_CALLS.has(canonicalOperation(operation));
}
