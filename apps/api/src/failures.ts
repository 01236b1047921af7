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

/** Why a program ends, in one line for the operator, and the exit code that it ends with. */
export type Failure = { message: string; exitCode: number };

/** Describes an error that the operator can put right. @throws the error itself where it is a bug */
export function describeFailure(error: unknown): Failure {
  if (error instanceof ConfigError) return { message: error.message, exitCode: REFUSED };
  if (error instanceof DatabaseUnfitError) {
    return { message: `DATABASE_URL: the database ${error.message}`, exitCode: REFUSED };
  }
  if (error instanceof DatabaseUnavailableError) {
    const message = `DATABASE_URL: the database cannot be used: ${causeOf(error)}`;
    return { message, exitCode: isPassing(error) ? FAILED : REFUSED };
  }
  if (isAddressInUse(error)) {
    const address = `${error.address}:${error.port}`;
    const message = `PORT: ${address} is in use. Stop what listens there, or set another PORT.`;
    return { message, exitCode: REFUSED };
  }
  if (isFromListening(error)) {
    const setting = error.code === 'EACCES' ? 'PORT' : 'HOST';
    return { message: `${setting}: cannot be listened on: ${error.message}`, exitCode: REFUSED };
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
