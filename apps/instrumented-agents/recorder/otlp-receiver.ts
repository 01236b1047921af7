import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { readBody } from './read-body.ts';

/** A request as it came in: the body is not decoded. A large one that came without compression is kept with it. */
export type RecordedRequest = {
  path: string;
  contentType: string;
  contentEncoding: string | null;
  /** Base64. */
  body: string;
};

export type OtlpReceiver = {
  url: string;
  requests: RecordedRequest[];
  stop(): Promise<void>;
};

const LARGE_BYTES = 16 * 1024;

/** Receives OTLP/HTTP on every path, since some exporters add one of their own, and answers that all was accepted. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (req, res) => {
    const body = await readBody(req);
    const contentType = req.headers['content-type'] ?? '';
    if (req.method === 'POST') {
      const encoding = req.headers['content-encoding'] ?? null;
      const isLarge = encoding === null && body.length > LARGE_BYTES;
      requests.push({
        path: req.url ?? '/',
        contentType,
        contentEncoding: isLarge ? 'gzip' : encoding,
        body: (isLarge ? gzipSync(body) : body).toString('base64'),
      });
    }
    const isJson = contentType.includes('json');
    res.writeHead(200, { 'content-type': isJson ? 'application/json' : 'application/x-protobuf' });
    res.end(isJson ? '{}' : '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async stop() {
      server.closeIdleConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
