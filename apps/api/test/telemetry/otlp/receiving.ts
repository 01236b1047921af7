import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** The decompressed body of the request that `send` makes. */
export async function bodySentTo(path: string, send: (url: string) => Promise<void>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let encoding: string | undefined;
  const server = createServer((incoming, answer) => {
    encoding = incoming.headers['content-encoding'];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => answer.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await send(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
  const body = Buffer.concat(chunks);
  return encoding === 'gzip' ? gunzipSync(body) : body;
}
