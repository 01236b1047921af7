/** An expected error, worded for the person at the terminal. Anything else that is thrown is a bug. */
export class Failure extends Error {
  override readonly name = 'Failure';
}
