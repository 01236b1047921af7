import type { AttributeValue } from '../otlp/span.ts';
import { asText } from './as-text.ts';
import type { ReadSource } from './dialect.ts';

const FINISH_REASON = 'gen_ai.finish_reason';

/** The attributes that every dialect reads for `waitsForAnswer`. */
export const WAITING_NAMES: readonly string[] = [FINISH_REASON];

/**
 * Whether the tool called LangGraph's `interrupt()`. Such a tool waits for a person's answer, and runs again after the answer.
 * Instrumentations for Python record the exception, or write its class. Splunk's (github.com/signalfx/splunk-otel-python-contrib,
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
