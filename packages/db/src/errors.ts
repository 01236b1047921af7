/** A unique key is taken. */
export class DuplicateKeyError extends Error {
  constructor(options: ErrorOptions) {
    super('a unique key is taken', options);
    this.name = 'DuplicateKeyError';
  }
}

/** The database is busy, full, read-only or away. What was asked did not happen; it may be asked again. */
export class DatabaseUnavailableError extends Error {
  constructor(options: ErrorOptions) {
    super('the database is unavailable', options);
    this.name = 'DatabaseUnavailableError';
  }
}
