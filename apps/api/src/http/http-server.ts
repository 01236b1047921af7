import { createServer, type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Server as NetServer, Socket } from 'node:net';
import type { ConnectionLimits } from './limits.ts';
import { networkOf } from './rate-limits/limits.ts';

type HttpServerOptions = {
  handle: RequestListener;
  /**
   * Whether connections should close after their next answer. The answers say so (`Connection: close`), so that no client
   * sends a request into a connection that is being closed.
   */
  isEnding?: () => boolean;
  /** Whether an address is a trusted proxy, which carries the connections of many clients. */
  isProxy?: (address: string, hop: number) => boolean;
  /** Called for each refused connection, with the limit that it exceeded. */
  onRefusedConnection?: (reason: 'address' | 'process') => void;
};

/**
 * An HTTP server with limits. The number of requests of a connection is not limited: it costs nothing, and a limit would make
 * healthy clients reconnect.
 */
export function createHttpServer(
  limits: ConnectionLimits,
  { handle, isEnding = () => false, isProxy = () => false, onRefusedConnection = () => {} }: HttpServerOptions,
): Server {
  class Answer extends ServerResponse {
    /** Checked when the head is written, because the shutdown may have begun after the request arrived. */
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
      // Node's default is 30 s: a slow head could exceed its time by that much.
      connectionsCheckingInterval: limits.checkIntervalMs,
      maxHeaderSize: limits.maxHeaderBytes,
    },
    (req, res) => {
      // rawHeaders alternates names and values.
      if (req.rawHeaders.length > 2 * limits.maxHeaders) res.writeHead(431, { Connection: 'close' }).end();
      else if (hasSeveralHosts(req)) res.writeHead(400, { Connection: 'close' }).end();
      else handle(req, res);
    },
  );
  // Node drops headers beyond its limit silently. One of them could be If-Match, so the request is refused instead.
  server.maxHeadersCount = 0;
  limitConnections(server, { limits, isProxy, onRefusedConnection });
  return server;
}

type LimitOptions = { limits: ConnectionLimits } & Required<Pick<HttpServerOptions, 'isProxy' | 'onRefusedConnection'>>;

/** Limits the connections of a server, in total and for each address. */
export function limitConnections(server: NetServer, options: LimitOptions): void {
  server.maxConnections = options.limits.maxConnections;
  server.on('drop', () => options.onRefusedConnection('process'));
  limitAddresses(server, options);
}

/** RFC 9112, section 3.2. Node uses the first Host header; a proxy in front may have used another one. */
function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

/** Closes further connections of an address at its limit, so that one host cannot hold all connections of the process. */
function limitAddresses(
  server: NetServer,
  { limits: { maxConnectionsPerAddress }, isProxy, onRefusedConnection }: LimitOptions,
): void {
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (isProxy(address, 0)) return;
    const network = networkOf(address);
    const count = open.get(network) ?? 0;
    if (count >= maxConnectionsPerAddress) {
      onRefusedConnection('address');
      socket.destroy();
      return;
    }
    open.set(network, count + 1);
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left > 0) open.set(network, left);
      else open.delete(network);
    });
  });
}
