import type { IncomingMessage, RequestListener } from 'node:http';
import { isLoopback } from '../platform/loopback.ts';
import type { Metrics } from '../platform/metrics.ts';

/**
 * Answers `/metrics` in Prometheus' exposition format, only for requests whose Host is this machine. Otherwise a web page in a
 * browser on this machine could read it under a name that resolves to loopback (DNS rebinding).
 *
 * @param hosts further names that a Host header may have, without ports
 */
export function metricsHandler({ registry }: Metrics, hosts: readonly string[]): RequestListener {
  return async (req, res) => {
    if (!isKnownHost(hostOf(req), hosts)) {
      res.writeHead(421).end();
      return;
    }
    if (req.url !== '/metrics') {
      res.writeHead(404).end();
      return;
    }
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.writeHead(405, { Allow: 'GET, HEAD' }).end();
      return;
    }
    res.setHeader('Content-Type', registry.contentType);
    res.end(await registry.metrics());
  };
}

/** The name in the Host header, in lower case and without its port; null if there is no valid one. */
function hostOf({ headers }: IncomingMessage): string | null {
  // URL would parse `evil.example@localhost` as localhost.
  if (!/^[^@/?#\\\s]+$/.test(headers.host ?? '')) return null;
  const url = `http://${headers.host ?? ''}`;
  return URL.canParse(url) ? new URL(url).hostname : null;
}

function isKnownHost(host: string | null, hosts: readonly string[]): boolean {
  return host !== null && (isLoopback(host) || hosts.includes(host));
}
