import { asText } from './as-text.ts';
import type { ReadSource, SpanPattern } from './dialect.ts';
import type { Facts } from './facts.ts';
import { exceptionTypeIn } from './rejections.ts';

export function matchesSpan(pattern: SpanPattern, span: ReadSource, facts: Facts): boolean {
  const { name, attributes = {}, errorType, exception } = pattern;
  if (name?.test(span.name) || errorType?.test(facts.errorType ?? '')) return true;
  if (exception?.test(exceptionTypeIn(span) ?? '')) return true;
  return Object.entries(attributes).some(([attribute, texts]) => {
    const value = span.attributes[attribute];
    return value !== undefined && texts.test(asText(value));
  });
}
