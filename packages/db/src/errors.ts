/** A row with this unique key exists. */
export class DuplicateKeyError extends Error {
  constructor(options?: ErrorOptions) {
    super('a unique key is taken', options);
    this.name = 'DuplicateKeyError';
  }
}

/** The database cannot be used until an operator changes something. The message completes `the database <message>`. */
export class DatabaseUnfitError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseUnfitError';
  }
}

/** The database is busy, full, read-only or unreachable. Nothing was done; the caller may retry. */
export class DatabaseUnavailableError extends Error {
  constructor(options: ErrorOptions) {
    super('the database is unavailable', options);
    this.name = 'DatabaseUnavailableError';
  }
}

/** The transaction was rolled back because of a concurrent one. Repeating all of its work may succeed. */
export class SerializationFailureError extends DatabaseUnavailableError {
  constructor(options: ErrorOptions) {
    super(options);
    this.name = 'SerializationFailureError';
  }
}

/** The tenant's write gate is closed for a larger change of the tenant. The transaction was not started. */
export class WriteGateClosedError extends DatabaseUnavailableError {
  constructor() {
    super({ cause: new Error('a larger change of the tenant is under way') });
    this.name = 'WriteGateClosedError';
  }
}

/**
 * The connection was lost during the commit, so the change may or may not have happened. Only the caller can decide whether
 * to repeat it.
 */
export class CommitOutcomeUnknownError extends DatabaseUnavailableError {
  constructor(options: ErrorOptions) {
    super(options);
    this.name = 'CommitOutcomeUnknownError';
  }
}
