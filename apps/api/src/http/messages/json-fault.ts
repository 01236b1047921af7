import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';

type JsonFault = { offset: number; reason: string };

const STRICT = { disallowComments: true, allowTrailingComma: false, allowEmptyContent: false };

/**
 * Finds the syntax error in a text that JSON.parse refused, which reports an offset only sometimes.
 *
 * @returns the offset in characters (code points, as Python counts them, whose offset FastAPI's clients expect)
 */
export function jsonFault(text: string): JsonFault {
  const errors: ParseError[] = [];
  try {
    parse(text, errors, STRICT);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { offset: 0, reason: 'Too deeply nested to find the fault' };
  }
  const [first] = errors;
  if (first === undefined) return { offset: 0, reason: 'Invalid' };
  const words = printParseErrorCode(first.error).replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return { offset: Array.from(text.slice(0, first.offset)).length, reason: words };
}
