import { createServer, type RequestListener, type Server } from 'node:http';
import type { ConnectionLimits } from '../http/limits.ts';

/**
 * An HTTP server within limits. How many requests a connection carries is not limited: it costs nothing, and a limit would
 * make healthy clients reconnect.
 */
export function createHttpServer(limits: ConnectionLimits, handle: RequestListener): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      // Node's own is 30 s: so long a head could drip beyond its time.
      connectionsCheckingInterval: limits.checkIntervalMs,
      maxHeaderSize: limits.maxHeaderBytes,
    },
    (req, res) => {
      // Names and values alternate.
      if (req.rawHeaders.length > 2 * limits.maxHeaders) res.writeHead(431, { Connection: 'close' }).end();
      else handle(req, res);
    },
  );
  // Node drops what is beyond its limit silently, an If-Match perhaps: better to refuse.
  server.maxHeadersCount = 0;
  server.maxConnections = limits.maxConnections;
  return server;
}
