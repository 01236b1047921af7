import { CommitOutcomeUnknownError, DatabaseUnavailableError, DatabaseUnfitError } from '@quartermaster/db/errors.ts';
import { ConfigError } from '../config.ts';

/** Exit code for a wrong or unusable setting or argument: a retry would fail again. */
const REFUSED = 2;

/** Exit code for other failures: a retry may succeed. */
const FAILED = 1;

/**
 * Codes of database errors that a correct setting can meet, too: locked, full or out of memory; a server that is down or not
 * reachable; too many connections (53), starting or stopping (57P), lock timeout, serialization failure or deadlock.
 */
const TRANSIENT =
  /^(SQLITE_(BUSY|LOCKED|FULL|NOMEM|IOERR)|ENOSPC|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EPIPE|EAI_AGAIN|53|57|55P03|40001|40P01)/;

/** The driver's error after the connection timeout, which has no code. */
const CONNECTION_TIMEOUT = /connection timeout$/;

/**
 * Messages of PgBouncer while its server is down, or while it has no connection left. It gives all its errors the code 08P01, also
 * those about a wrong password or database.
 */
const POOLER_BUSY = /\b(server_login_retry|max_client_conn|query_wait_timeout|server conn crashed)\b/;

/** One line for the operator about why a program ends, and its exit code. */
export type Failure = { message: string; exitCode: number };

/** Describes an error that the operator can fix. @throws the error itself if it is a bug */
export function describeFailure(error: unknown): Failure {
  if (error instanceof ConfigError) return { message: error.message, exitCode: REFUSED };
  if (error instanceof DatabaseUnfitError) {
    return { message: `DATABASE_URL: the database ${error.message}`, exitCode: REFUSED };
  }
  if (error instanceof DatabaseUnavailableError) {
    const message = `DATABASE_URL: the database cannot be used: ${causeOf(error)}`;
    return { message, exitCode: isTransient(error) ? FAILED : REFUSED };
  }
  if (isDamage(error)) {
    const message = `DATABASE_URL: the database is damaged (${error.message}). Restore a backup.`;
    return { message, exitCode: REFUSED };
  }
  if (isAddressInUse(error)) {
    const address = `${error.address}:${error.port}`;
    const message = `PORT: ${address} is in use. Stop the program that listens there, or set another PORT.`;
    return { message, exitCode: REFUSED };
  }
  if (isFromListening(error)) {
    const setting = error.code === 'EACCES' ? 'PORT' : 'HOST';
    return { message: `${setting}: the server cannot listen on it: ${error.message}`, exitCode: REFUSED };
  }
  throw error;
}

/** The driver's message. It may name hosts and users, never passwords. */
export function causeOf({ cause }: Error): string {
  if (!(cause instanceof Error)) return String(cause);
  // For a host with several addresses there is one error for each attempt.
  return cause.message || (cause instanceof AggregateError ? cause.errors.map(String).join('; ') : cause.name);
}

/** Whether the database may become available again without a change of its setting. */
export function isTransient(error: DatabaseUnavailableError): boolean {
  if (error instanceof CommitOutcomeUnknownError) return true;
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && TRANSIENT.test(String(cause.code))) return true;
    if (CONNECTION_TIMEOUT.test(cause.message) || POOLER_BUSY.test(cause.message)) return true;
  }
  return false;
}

function isDamage(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CORRUPT');
}

function isAddressInUse(error: unknown): error is Error & { address: string; port: number } {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE' && 'port' in error;
}

/** Such as an unknown host name, an address of another machine, or a port that needs more rights. */
function isFromListening(error: unknown): error is Error & { code: string } {
  if (!(error instanceof Error && 'syscall' in error)) return false;
  return error.syscall === 'listen' || error.syscall === 'bind' || error.syscall === 'getaddrinfo';
}
