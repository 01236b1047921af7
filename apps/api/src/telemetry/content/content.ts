import type { OtlpSpan } from '../otlp/span.ts';
import { captureFilter } from './capture.ts';
import { strictFilter } from './strict.ts';

/**
 * A filter for the spans of one batch, on the way to storage. It reads nothing but the span: call `readSpan` first, on the
 * unfiltered span, and give it the dialect that was read. The input is not changed. What needs no change is returned as it
 * is, and the resource and scope that spans share stay shared.
 *
 * Without `keepContent`, strings are kept only under names that cannot hold content, and numbers and booleans unless their
 * name says that they are content. What was left out is named in the attribute `quartermaster.omitted`.
 */
export function contentFilter(options: { keepContent: boolean }): (span: OtlpSpan, dialect: string | null) => OtlpSpan {
  return options.keepContent ? captureFilter() : strictFilter();
}
