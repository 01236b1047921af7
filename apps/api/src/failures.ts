import { DatabaseUnavailableError } from '@quartermaster/db/errors.ts';
import { ConfigError } from './config.ts';

/** Says in one line what the operator has to put right, and ends with its code. @throws whatever else it is */
export function reportFailure(error: unknown): void {
  const [message, code] = failureOf(error);
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}

function failureOf(error: unknown): [message: string, code: number] {
  if (error instanceof ConfigError) return [error.message, 2];
  if (error instanceof DatabaseUnavailableError) {
    return [`DATABASE_URL: the database cannot be used: ${causeOf(error)}`, 1];
  }
  if (isAddressInUse(error)) {
    return [`PORT: ${error.address}:${error.port} is in use. Stop what listens there, or set another PORT.`, 1];
  }
  throw error;
}

/** The driver's words: they name hosts and users, never passwords. */
function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return String(cause);
  // Of a host with several addresses each attempt has an error of its own.
  return cause.message || (cause instanceof AggregateError ? cause.errors.map(String).join('; ') : cause.name);
}

function isAddressInUse(error: unknown): error is Error & { address: string; port: number } {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error;
}
