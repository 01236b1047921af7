import { isDeepStrictEqual } from 'node:util';
import type { Operation } from '@quartermaster/contracts/operation.ts';

/** Checks an answer against its contract: the schema must neither refuse nor change it. @throws Error */
export function checkAnswer(operation: Operation, output: unknown): void {
  const sent = asJson(output);
  let parsed: unknown;
  try {
    parsed = operation.output.parse(sent);
  } catch (cause) {
    throw new Error('Output validation failed', { cause });
  }
  if (!isDeepStrictEqual(asJson(parsed), sent))
    throw new Error('Output validation failed: the schema changes the answer');
}

/** The value after a round trip through JSON. */
function asJson(value: unknown): unknown {
  const text = textOf(value);
  return text === undefined ? undefined : JSON.parse(text);
}

/**
 * The value as JSON. A bigint, which JSON cannot express, becomes a text. The first attempt is made without a replacer function,
 * because that is several times faster.
 */
function textOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
  }
}
