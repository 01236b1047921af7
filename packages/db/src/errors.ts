/** A unique key is taken. */
export class DuplicateKeyError extends Error {
  constructor(options?: ErrorOptions) {
    super('a unique key is taken', options);
    this.name = 'DuplicateKeyError';
  }
}

/** The database is not one that this can be done with, until somebody changes it; the message says why: `the database <message>`. */
export class DatabaseUnfitError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseUnfitError';
  }
}

/** The database is busy, full, read-only or away. What was asked did not happen; it may be asked again. */
export class DatabaseUnavailableError extends Error {
  constructor(options: ErrorOptions) {
    super('the database is unavailable', options);
    this.name = 'DatabaseUnavailableError';
  }
}

/** Another transaction came in between, and this one was undone: the same work, from its start, may succeed. */
export class SerializationFailureError extends DatabaseUnavailableError {
  constructor(options: ErrorOptions) {
    super(options);
    this.name = 'SerializationFailureError';
  }
}

/** A larger change of the same tenant has its writes to itself for a moment. Nothing was begun. */
export class WriteGateClosedError extends DatabaseUnavailableError {
  constructor() {
    super({ cause: new Error('a larger change of the tenant is under way') });
    this.name = 'WriteGateClosedError';
  }
}

/**
 * The connection was lost while a change was being made final: it may have been made, or not. To do the same again is
 * the caller's decision alone.
 */
export class CommitOutcomeUnknownError extends DatabaseUnavailableError {
  constructor(options: ErrorOptions) {
    super(options);
    this.name = 'CommitOutcomeUnknownError';
  }
}
