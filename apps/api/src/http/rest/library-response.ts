import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendText } from '../messages/send.ts';

type Answering = {
  req: IncomingMessage;
  res: ServerResponse;
  /** Called with the size of the answer before it is sent. It may refuse the answer by throwing. */
  hold: (bytes: number) => void;
};

/**
 * The response that trpc-to-openapi writes to. It sends answers in the same way as errors. Each member says which line of the
 * library (3.3.0, `dist/esm/adapters/node-http/core.mjs`) makes it necessary; `test/http/library.test.ts` fails when a version
 * no longer needs it.
 */
export class LibraryResponse {
  readonly #to: Answering;
  statusCode = 200;

  constructor(to: Answering) {
    this.#to = to;
  }

  setHeader(name: string, value: string): void {
    // The library gives each answer a media type, also a 304, which has no content (`core.mjs:20`).
    if (this.statusCode !== 304) this.#to.res.setHeader(name, value);
  }

  /** The library would write an answer of any size, whatever the client still reads or sends (`core.mjs:26`). */
  end(text: string): void {
    const { req, res, hold } = this.#to;
    res.statusCode = this.statusCode;
    if (this.statusCode === 304) {
      res.end();
      return;
    }
    hold(Buffer.byteLength(text));
    sendText(req, res, text);
  }
}
