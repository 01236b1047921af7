import { expect } from 'vitest';
import type { Attributes, OtlpSpan } from '../../../src/telemetry/otlp/span.ts';
import { type GenAi, readGenAi, type Subject, subjectsOf } from '../../../src/telemetry/dialects/genai.ts';
import { span } from './wire.ts';

/** A span, and what is read of it. */
export type Row = {
  name?: string;
  attributes: Attributes;
  kind?: OtlpSpan['kind'];
  /** Fields that are not null; every other one must be. */
  genAi: Partial<GenAi>;
  subjects: Subject[];
};

const NOTHING: GenAi = {
  operation: null,
  provider: null,
  model: null,
  responseModel: null,
  agent: null,
  agentId: null,
  tool: null,
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

export function expectRead({ name = 'a span', attributes, kind = 'client', genAi, subjects }: Row): void {
  const read = span({ name, attributes, kind });
  const actual = readGenAi(read);
  expect(actual).toEqual({ ...NOTHING, ...genAi });
  expect(actual && subjectsOf(read, actual)).toEqual(subjects);
}
