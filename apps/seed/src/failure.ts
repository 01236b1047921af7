/** An expected error, worded for the person at the terminal. Anything else that is thrown is a bug. */
export class Failure extends Error {
  override readonly name = 'Failure';
  /** 2: nothing was changed, because the server or the credential is not usable. 1: the run itself failed. */
  readonly exitCode: 1 | 2;

  constructor(message: string, { exitCode = 1, cause }: { exitCode?: 1 | 2; cause?: unknown } = {}) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}
