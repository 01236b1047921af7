import type { AttributeValue } from '../otlp/span.ts';
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

const FINISH_REASON = 'gen_ai.finish_reason';

/** The attributes that every dialect reads for `waitsForAnswer`. */
export const WAITING_NAMES: readonly string[] = [FINISH_REASON];

/**
 * Whether the tool called LangGraph's `interrupt()`: it waits for a person's answer, and runs again after it. Instrumentations for
 * Python record the exception, or write its class. Splunk's (github.com/signalfx/splunk-otel-python-contrib,
 * util/opentelemetry-util-genai) writes a reason of its own instead.
 */
export function waitsForAnswer(span: ReadSource): boolean {
  const { 'error.type': error, [FINISH_REASON]: reason } = span.attributes;
  return [exceptionTypeIn(span), classIn(error)].includes('GraphInterrupt') || reason === 'interrupted';
}

/** The class of the error that a span recorded, without its module. */
export function exceptionTypeIn({ events = [] }: ReadSource): string | null {
  const exception = events.find(({ name }) => name === 'exception');
  return exception === undefined ? null : classIn(exception.attributes['exception.type']);
}

function classIn(name: AttributeValue | undefined): string | null {
  return (
    asText(name ?? '')
      .split('.')
      .at(-1) ?? null
  );
}
