import { connect, type Socket } from 'node:net';

/** Time limit of a response in milliseconds. Exceeding it ends the measurement with an error. */
const ANSWER_TIMEOUT_MS = 60_000;

const HEAD_END = Buffer.from('\r\n\r\n');

/** What a body in chunks ends with. In the measured answers, no chunk has these bytes at its end. */
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/**
 * One HTTP/1.1 connection with one request at a time. It parses only the status and the end of a response, so that the load
 * needs little CPU time compared with the measured server.
 */
export class Connection {
  readonly #socket: Socket;
  #settle: { resolve: (status: number) => void; reject: (error: Error) => void } | null = null;
  #head: Buffer | null = null;
  #status = 0;
  /** Bytes of the body that are still missing. */
  #left = 0;
  /** The end of what was received of a body in chunks; null: the body has a length. */
  #chunks: Buffer | null = null;
  /** Why the connection is unusable. */
  #broken: Error | null = null;
  /** The number of received bytes. */
  bytes = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  /** Sends one request. @returns the status, once the complete response has arrived */
  send(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#broken !== null) {
        reject(this.#broken);
        return;
      }
      this.#settle = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#settle = null;
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.#chunks !== null) {
      this.#takeChunk(chunk);
      return;
    }
    if (this.#left > 0) {
      this.#left -= chunk.length;
    } else {
      const received = this.#head === null ? chunk : Buffer.concat([this.#head, chunk]);
      const end = received.indexOf(HEAD_END);
      this.#head = received;
      if (end < 0) return;
      this.#head = null;
      const head = received.toString('latin1', 0, end);
      this.#status = Number(head.slice(9, 12));
      const body = received.subarray(end + HEAD_END.length);
      if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
        this.#chunks = Buffer.alloc(0);
        // The first chunk follows the end of the head.
        this.#takeChunk(Buffer.concat([HEAD_END.subarray(2), body]));
        return;
      }
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) {
        this.#socket.destroy(new Error(`an answer without Content-Length:\n${head}`));
        return;
      }
      this.#left = Number(length) - body.length;
    }
    if (this.#left <= 0) this.#answered();
  }

  #takeChunk(chunk: Buffer): void {
    const end = Buffer.concat([this.#chunks ?? Buffer.alloc(0), chunk]).subarray(-LAST_CHUNK.length);
    this.#chunks = end;
    if (!end.equals(LAST_CHUNK)) return;
    this.#chunks = null;
    this.#answered();
  }

  #answered(): void {
    const { resolve } = this.#settle ?? {};
    this.#settle = null;
    resolve?.(this.#status);
  }

  #fail(error: Error): void {
    this.#broken ??= error;
    const { reject } = this.#settle ?? {};
    this.#settle = null;
    reject?.(error);
  }
}

export function openConnection(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(new Connection(socket));
    });
  });
}
