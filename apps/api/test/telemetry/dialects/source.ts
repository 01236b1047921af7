import type { ReadSource } from '../../../src/telemetry/dialects/dialect.ts';
import type { Attributes } from '../../../src/telemetry/otlp/span.ts';

/** A span as it is read, made by hand. */
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
