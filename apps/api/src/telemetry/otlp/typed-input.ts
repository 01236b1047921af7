import { valueError } from '../../platform/errors.ts';
import { OtlpDecodeError } from './span.ts';

/** Decodes the body of a typed tRPC call. A decoding error is answered with 422, as invalid values are in other operations. */
export function decodedInput<T>(decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw error instanceof OtlpDecodeError ? valueError(['body'], error.message) : error;
  }
}
