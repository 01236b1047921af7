import * as http from 'node:http';
import type { AddressInfo } from 'node:net';

export type Proxy = { origin: string; close: () => Promise<void> };

/** A reverse proxy like nginx with a bare `proxy_pass`: it sends the Host of its upstream, and no forwarding header. */
export async function startProxy(upstream: string): Promise<Proxy> {
  const { host } = new URL(upstream);
  const proxy = http.createServer((req, res) => {
    const headers = { ...req.headers, host };
    const forwarded = http.request(upstream + req.url, { method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    forwarded.on('error', () => res.destroy());
    req.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        proxy.close(() => resolve());
        proxy.closeAllConnections();
      }),
  };
}
