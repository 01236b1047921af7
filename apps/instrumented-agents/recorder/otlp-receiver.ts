import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { readBody } from './read-body.ts';

/**
 * A request as it came in, except for the path of the repository. The body is not decoded. A large one that came without compression is
 * kept with it.
 */
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

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/** As long as the path that it replaces, because protobuf has the length of each text. */
const NEUTRAL_PATH = '/repository'.padEnd(REPOSITORY.length, '-').slice(0, REPOSITORY.length);

/** Receives OTLP/HTTP on every path, since some exporters add one of their own, and answers that all was accepted. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (req, res) => {
    const sent = await readBody(req);
    const contentType = req.headers['content-type'] ?? '';
    if (req.method === 'POST') {
      const encoding = req.headers['content-encoding'] ?? null;
      const body = withNeutralPaths(encoding === 'gzip' ? gunzipSync(sent) : sent);
      const isPacked = encoding === 'gzip' || (encoding === null && body.length > LARGE_BYTES);
      requests.push({
        path: req.url ?? '/',
        contentType,
        contentEncoding: isPacked ? 'gzip' : encoding,
        body: (isPacked ? gzipSync(body) : body).toString('base64'),
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

/** Stack traces and the arguments of a process contain the path of the repository. */
function withNeutralPaths(body: Buffer): Buffer {
  return Buffer.from(body.toString('latin1').replaceAll(REPOSITORY, NEUTRAL_PATH), 'latin1');
}
