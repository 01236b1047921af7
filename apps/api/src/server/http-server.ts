import { createServer, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { ConnectionLimits } from '../http/limits.ts';

/**
 * An HTTP server within limits. How many requests a connection carries is not limited: it costs nothing, and a limit would
 * make healthy clients reconnect.
 *
 * @param isEnding whether connections end with their answers: these say so then, so that clients close by themselves, and
 *   none sends its next request into a connection that is being closed
 */
export function createHttpServer(limits: ConnectionLimits, handle: RequestListener, isEnding = () => false): Server {
  class Answer extends ServerResponse {
    /** Asked as late as that: the end may have begun since the request came. */
    override writeHead(...head: unknown[]): this {
      if (isEnding() && !this.headersSent) this.setHeader('Connection', 'close');
      return (super.writeHead as (...given: unknown[]) => this)(...head);
    }
  }
  const server = createServer(
    {
      ServerResponse: Answer,
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
