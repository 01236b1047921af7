import { createServer, type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Server as NetServer, Socket } from 'node:net';
import type { ConnectionLimits } from '../http/limits.ts';
import { networkOf } from '../rate-limits/limits.ts';

type HttpServerOptions = {
  handle: RequestListener;
  /**
   * Whether connections end with their answers: these say so then, so that clients close by themselves, and none sends its
   * next request into a connection that is being closed.
   */
  isEnding?: () => boolean;
  /** Whether an address is that of a proxy, which has the connections of many clients. */
  isProxy?: (address: string, hop: number) => boolean;
  /** Hears of each connection that is closed at once, and whose limit it was. */
  onRefusedConnection?: (reason: 'address' | 'process') => void;
};

/**
 * An HTTP server within limits. How many requests a connection carries is not limited: it costs nothing, and a limit would
 * make healthy clients reconnect.
 */
export function createHttpServer(
  limits: ConnectionLimits,
  { handle, isEnding = () => false, isProxy = () => false, onRefusedConnection = () => {} }: HttpServerOptions,
): Server {
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
      else if (hasSeveralHosts(req)) res.writeHead(400, { Connection: 'close' }).end();
      else handle(req, res);
    },
  );
  // Node drops what is beyond its limit silently, an If-Match perhaps: better to refuse.
  server.maxHeadersCount = 0;
  limitConnections(server, { limits, isProxy, onRefusedConnection });
  return server;
}

type LimitOptions = { limits: ConnectionLimits } & Required<Pick<HttpServerOptions, 'isProxy' | 'onRefusedConnection'>>;

/** Bounds the connections of a server, in all and of each address. */
export function limitConnections(server: NetServer, options: LimitOptions): void {
  server.maxConnections = options.limits.maxConnections;
  server.on('drop', () => options.onRefusedConnection('process'));
  limitAddresses(server, options);
}

/** RFC 9112, section 3.2. Node keeps the first one: a proxy before it may have taken another. */
function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts > 1;
}

/** Closes connections of an address that has as many as it may: one host must not hold all that the process has. */
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
