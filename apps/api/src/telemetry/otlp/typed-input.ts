import { valueError } from '../../errors.ts';
import { OtlpDecodeError } from './span.ts';

/** Decodes the body of a typed caller: what cannot be decoded is a fault of the value, 422, as in every other operation. */
export function decodedInput<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw error instanceof OtlpDecodeError ? valueError(['body'], error.message) : error;
  }
}
