import type { OtlpSpan } from '../otlp/span.ts';
import type { Reading } from './facts.ts';
import { readGenAi, usesOf } from './genai.ts';

/** Reads a span in the dialect that it is written in. */
export function readSpan(span: OtlpSpan): Reading {
  const facts = readGenAi(span);
  return { dialect: facts && 'genai', facts, uses: facts ? usesOf(span, facts) : [] };
}
