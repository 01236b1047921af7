import { Agent, type IncomingHttpHeaders, request } from 'node:http';

// The body of an answer; each caller knows what it asked for.
// oxlint-disable-next-line typescript/no-explicit-any
export type Body = any;
export type Answered = { status: number; headers: IncomingHttpHeaders; body: Body };
type Sent = { key?: string; body?: unknown; headers?: Record<string, string> };

/** How long an answer may take, in milliseconds: longer than anything here should. */
const ANSWER_TIMEOUT_MS = 30_000;

/** One kept-alive connection: requests go over it one after the other. */
export class Connection {
  readonly #url: string;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /**
   * Sends a request and reads its answer whole.
   *
   * @throws where there is no (whole) answer: the system's error, with its `code`
   */
  send(method: string, path: string, { key = this.#key, body, headers = {} }: Sent = {}): Promise<Answered> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const sent = {
      'x-api-key': key,
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
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: json ? JSON.parse(text) : text });
        });
      });
      asked.on('timeout', () => asked.destroy(new Error(`${method} ${path} had no answer in ${ANSWER_TIMEOUT_MS} ms`)));
      asked.on('error', reject);
      asked.end(payload);
    });
  }

  /** The same, and expects 200. Answers the body. */
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

/** An answer of another status than the one that was expected. */
export class StatusError extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.name = 'StatusError';
    this.status = status;
  }
}
