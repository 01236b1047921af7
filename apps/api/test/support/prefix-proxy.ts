import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

type PrefixProxy = { url: string; forwardTo: (server: string) => void; close: () => void };

/**
 * A reverse proxy that has a service below `prefix`, and nothing elsewhere. It removes the prefix, as nginx does for
 * `proxy_pass http://backend/`, or forwards the path as it is.
 */
export async function startPrefixProxy(prefix: string, { strips }: { strips: boolean }): Promise<PrefixProxy> {
  let target = '';
  const proxy = createServer((req, res) => {
    const url = req.url ?? '';
    if (!/^[/?]|^$/.test(url.slice(prefix.length)) || !url.startsWith(prefix)) {
      res.writeHead(404).end('Another application of the host.');
      return;
    }
    const rest = url.slice(prefix.length);
    const path = strips ? `/${rest.replace(/^\//, '')}` : url;
    const forwarded = request(target + path, { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    forwarded.on('error', () => res.destroy());
    req.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`,
    forwardTo: (server) => {
      target = server;
    },
    close: () => {
      proxy.close();
      proxy.closeAllConnections();
    },
  };
}
