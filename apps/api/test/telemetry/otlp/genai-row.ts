import { expect } from 'vitest';
import type { Attributes, OtlpSpan } from '../../../src/telemetry/otlp/span.ts';
import type { Facts, Use } from '../../../src/telemetry/dialects/facts.ts';
import { readSpan } from '../../../src/telemetry/dialects/read.ts';
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

const NOTHING: Facts = {
  operation: null,
  vendor: null,
  model: null,
  responseModel: null,
  agent: null,
  agentId: null,
  tool: null,
  toolServer: null,
  toolRunsAt: null,
  callId: null,
  prompt: null,
  workflow: null,
  mcpResource: null,
  mcpMethod: null,
  conversationId: null,
  inputTokens: null,
  outputTokens: null,
  serverAddress: null,
  serverPort: null,
  errorType: null,
};

export function expectRead({ name = 'a span', attributes, kind = 'client', facts, uses }: Row): void {
  const read = span({ name, attributes, kind });
  const actual = readSpan(read);
  expect(actual.facts).toEqual({ ...NOTHING, ...facts });
  expect(actual.uses).toEqual(uses);
}
