import { asText } from './as-text.ts';
import type { ReadSource } from './dialect.ts';

/** The message of an error in which the OpenAI Agents SDK rejects a call. Its data may follow as JSON, or as Python writes it. */
const REJECTION = /^Tool execution was not approved\.(?:$|: \{)/;

/**
 * Whether the status is that of a tool call that a person rejected in the OpenAI Agents SDK (github.com/openai/openai-agents-js,
 * packages/agents-core/src/runner/toolExecution.ts). The message of any other failure begins with `Error running tool`, or with
 * `MCP error` if the application handles errors itself. So the text of a tool or an MCP server cannot begin like this.
 */
export function isRejectedByOpenAiAgents({ status }: ReadSource): boolean {
  return status?.code === 'error' && REJECTION.test(status.message ?? '');
}

/**
 * Whether an error's text, as LangChain for JavaScript writes it, is that of LangGraph's `interrupt()`
 * (github.com/langchain-ai/langgraphjs, libs/langgraph-core/src/errors.ts): the interrupts as JSON, and the stack, which repeats
 * them behind the error's class. If another error contained this text, its stack would repeat it, and the class would occur twice.
 */
export function isInterruptOfLangGraph(text: unknown): boolean {
  const [interrupts = '', stack = '', ...others] = typeof text === 'string' ? text.split('\n\nGraphInterrupt: ') : [];
  return interrupts.startsWith('[\n  {\n') && stack.startsWith(`${interrupts}\n    at `) && others.length === 0;
}

/** The class of the error that a span recorded, without its module. */
export function exceptionTypeIn({ events = [] }: ReadSource): string | null {
  const exception = events.find(({ name }) => name === 'exception');
  return exception === undefined ? null : (asText(exception.attributes['exception.type']).split('.').at(-1) ?? null);
}
