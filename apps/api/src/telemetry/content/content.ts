import type { OtlpSpan } from '../otlp/span.ts';
import { captureFilter } from './capture.ts';
import { strictFilter } from './strict.ts';

/**
 * Returns a filter that removes from the spans of one batch what must not be stored. Call `readSpan` first, on the
 * unfiltered span, and pass the dialect that it found. The filter does not modify its input. Unchanged parts are returned as
 * they are, so resources and scopes that spans share stay shared.
 *
 * Without `keepContent`, a string is stored only under a name that cannot hold content. Numbers and booleans are stored
 * unless their name says that they are content. The attribute `quartermaster.omitted` lists the names that were removed.
 */
export function contentFilter(options: { keepContent: boolean }): (span: OtlpSpan, dialect: string | null) => OtlpSpan {
  return options.keepContent ? captureFilter() : strictFilter();
}
