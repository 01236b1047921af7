import type { ReadSource } from '../../../src/telemetry/reading/dialect.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';

/** The input of a dialect for a handwritten span. */
export function source(
  attributes: Attributes,
  name = 'span',
  {
    scope = '',
    kind = 'internal',
    resource = {},
  }: { scope?: string; kind?: ReadSource['kind']; resource?: Attributes } = {},
): ReadSource {
  return { name, kind, attributes, scope: { name: scope, version: null, attributes: {} }, resource };
}
