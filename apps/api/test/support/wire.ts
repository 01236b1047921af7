import { type Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';

export type WireAnswer = { status: number; headers: IncomingHttpHeaders; rawHeaders: string[]; text: string };
export type WireRequest = {
  method?: string;
  /** The request target, sent unchanged. */
  target: string;
  /** A list sends the header once for each value. */
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
  agent?: Agent;
};

/** Sends requests that fetch would normalise or refuse: odd targets, repeated headers, bodies with any method. */
export function wire(
  url: string,
  { method = 'GET', target, headers = {}, body, agent }: WireRequest,
): Promise<WireAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const options = { hostname, port, method, path: target, headers: { ...length, ...headers } };
    const sent = request({ ...options, ...(agent && { agent }) }, (res) => {
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (chunk: string) => {
        text += chunk;
      });
      res.on('end', () =>
        resolve({ status: res.statusCode ?? 0, headers: res.headers, rawHeaders: res.rawHeaders, text }),
      );
      res.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
