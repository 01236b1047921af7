import { Agent, type IncomingHttpHeaders, request } from 'node:http';

// The body of an answer. Each caller knows its type.
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any;
export type Answered = {
  status: number;
  headers: IncomingHttpHeaders;
  body: Body;
  /** The body as text. */
  text: string;
};
type Sent = { key?: string | null; body?: unknown; headers?: Record<string, string> };

/** Time limit for an answer in milliseconds, longer than any request here should take. */
const ANSWER_TIMEOUT_MS = 30_000;

/** One keep-alive connection, which sends one request after the other. */
export class Connection {
  readonly #url: string;
  readonly #key: string | null;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  /** @param key null: sends no credentials */
  constructor(url: string, key: string | null) {
    this.#url = url;
    this.#key = key;
  }

  /**
   * Sends a request and reads its complete answer.
   *
   * @throws if there is no complete answer: the system's error, with its `code`
   */
  send(method: string, path: string, { key = this.#key, body, headers = {} }: Sent = {}): Promise<Answered> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const sent = {
      ...(key !== null && { 'x-api-key': key }),
      ...(payload !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
      }),
      ...headers,
    };
    return new Promise((resolve, reject) => {
      const options = { method, headers: sent, agent: this.#agent, timeout: ANSWER_TIMEOUT_MS };
      const asked = request(this.#url + path, options, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const json = /json/.test(res.headers['content-type'] ?? '') && text !== '';
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: json ? JSON.parse(text) : text, text });
        });
      });
      asked.on('timeout', () => asked.destroy(new Error(`${method} ${path} had no answer in ${ANSWER_TIMEOUT_MS} ms`)));
      // Whether the connection carried a request before. If so, the service had accepted it.
      asked.on('error', (error) => reject(Object.assign(error, { reused: asked.reusedSocket })));
      asked.end(payload);
    });
  }

  /** Like `send`, but expects 200, and returns the body. */
  async ok(method: string, path: string, sent?: Sent): Promise<Body> {
    const { status, body } = await this.send(method, path, sent);
    if (status !== 200)
      throw new StatusError(`${method} ${path} was answered ${status}: ${JSON.stringify(body)}`, status);
    return body;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** An answer with an unexpected status. */
export class StatusError extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.name = 'StatusError';
    this.status = status;
  }
}
