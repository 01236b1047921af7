import { CommitOutcomeUnknownError, DatabaseUnavailableError, DatabaseUnfitError } from '@quartermaster/db/errors.ts';
import { ConfigError } from './config.ts';

/** What is configured or asked for is wrong, or cannot be used: the same again ends the same. */
const REFUSED = 2;

/** It failed otherwise. */
const FAILED = 1;

/**
 * Why a database cannot be used that has nothing to do with how it is named: it is locked, full or out of memory; it has
 * too many connections (53), starts or stops (57P), or somebody held a lock for too long; two were in each other's way.
 */
const PASSING = /^(SQLITE_(BUSY|LOCKED|FULL|NOMEM|IOERR)|ENOSPC|53|57|55P03|40001|40P01)/;

/** Says in one line what the operator has to put right, and ends with its code. @throws whatever else it is */
export function reportFailure(error: unknown): void {
  const [message, code] = failureOf(error);
  process.stderr.write(`${message}\n`);
  process.exitCode = code;
}

function failureOf(error: unknown): [message: string, code: number] {
  if (error instanceof ConfigError) return [error.message, REFUSED];
  if (error instanceof DatabaseUnfitError) return [`DATABASE_URL: the database ${error.message}`, REFUSED];
  if (error instanceof DatabaseUnavailableError) {
    return [`DATABASE_URL: the database cannot be used: ${causeOf(error)}`, isPassing(error) ? FAILED : REFUSED];
  }
  if (isAddressInUse(error)) {
    return [`PORT: ${error.address}:${error.port} is in use. Stop what listens there, or set another PORT.`, REFUSED];
  }
  if (isFromListening(error)) {
    return [`${error.code === 'EACCES' ? 'PORT' : 'HOST'}: cannot be listened on: ${error.message}`, REFUSED];
  }
  throw error;
}

/** The driver's words: they name hosts and users, never passwords. */
export function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return String(cause);
  // Of a host with several addresses each attempt has an error of its own.
  return cause.message || (cause instanceof AggregateError ? cause.errors.map(String).join('; ') : cause.name);
}

/** Whether a database that is unavailable may be available the next moment, by the same name. */
function isPassing(error: DatabaseUnavailableError): boolean {
  if (error instanceof CommitOutcomeUnknownError) return true;
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && PASSING.test(String(cause.code))) return true;
  }
  return false;
}

function isAddressInUse(error: unknown): error is Error & { address: string; port: number } {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error;
}

/** A name that is none, an address that is not of this machine, a port for which the user has no right. */
function isFromListening(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error && 'syscall' in error)) return false;
  return error.syscall === 'listen' || error.syscall === 'bind' || error.syscall === 'getaddrinfo';
}
