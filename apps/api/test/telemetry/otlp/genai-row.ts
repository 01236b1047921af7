import { expect } from 'vitest';
import type { Attributes, OtlpSpan } from '../../../src/telemetry/otlp/span.ts';
import type { Facts, Use } from '../../../src/telemetry/reading/facts.ts';
import { readSpan } from '../../../src/telemetry/frameworks/read.ts';
import { factsOf } from '../calls/facts.ts';
import { span } from './wire.ts';

/** A span, and the facts and uses that are read from it. */
export type Row = {
  name?: string;
  attributes: Attributes;
  kind?: OtlpSpan['kind'];
  /** The expected fields. All others must be null. */
  facts: Partial<Facts>;
  uses: Use[];
};

export function expectRead({ name = 'a span', attributes, kind = 'client', facts, uses }: Row): void {
  const read = span({ name, attributes, kind });
  const actual = readSpan(read);
  expect(actual.facts).toEqual(factsOf(facts));
  expect(actual.uses).toEqual(uses);
}
