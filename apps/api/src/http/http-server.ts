import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Server as NetServer, Socket } from 'node:net';
import type { RefusalReason } from '../platform/metrics.ts';
import { type ConnectionLimits, MAX_SMALL_CHUNKS, SMALL_CHUNK_BYTES } from './messages/limits.ts';
import { networkOf } from './rate-limits/limits.ts';
import { PerSecond } from './rate-limits/per-second.ts';

type HttpServerOptions = {
  handle: RequestListener;
  /**
   * Whether connections should close after their next answer. The answers say so (`Connection: close`), so that no client
   * sends a request into a connection that is being closed.
   */
  isEnding?: () => boolean;
  /** Whether an address is a trusted proxy, which carries the connections of many clients. */
  isProxy?: (address: string, hop: number) => boolean;
  /** Whether the credential of a request was valid before. Its connection may stay in the reserve of its address. */
  isKnown?: (req: IncomingMessage) => boolean;
  /** Called for each refused connection, with the limit that it exceeded. */
  onRefusedConnection?: (reason: RefusalReason) => void;
};

/** A body may have this many chunks, whatever their size. */
const FREE_CHUNKS = 1000;

/** Further chunks have at least this many bytes on average. */
const MIN_CHUNK_BYTES = 64;

/** The first chunks of a body do not count for the limit of an address: clients send most bodies in one, two or three chunks. */
const FIRST_CHUNKS = 4;

/**
 * How long an address is refused after its connections were closed. Otherwise it could go on with its flood on new connections.
 */
const COOLDOWN_MS = 1000;

/** The part of an address's connections that is its reserve. */
const RESERVED_PART = 0.1;

/**
 * Paths that are answered on a connection of the reserve without a known credential. The connection is closed after the answer.
 */
const FOR_ANYBODY = /^\/(healthz|readyz|console)([/?]|$)/;

/**
 * An HTTP server with limits. How many requests follow one another on a connection is not limited: it costs nothing, and a limit
 * would make healthy clients reconnect.
 */
export function createHttpServer(
  limits: ConnectionLimits,
  {
    handle,
    isEnding = () => false,
    isProxy = () => false,
    isKnown = () => false,
    onRefusedConnection = () => {},
  }: HttpServerOptions,
): Server {
  /** Handles a request. On a connection of the reserve, refuses requests that may not use the reserve. */
  const handleWithin = (req: IncomingMessage, res: ServerResponse) => {
    if (addresses.isOnTrial(req.socket)) {
      const isForAnybody = FOR_ANYBODY.test(req.url ?? '');
      if (!isForAnybody && !isKnown(req)) {
        onRefusedConnection('address');
        res.writeHead(429, { Connection: 'close', 'Retry-After': '1' }).end();
        return;
      }
      addresses.keep(req.socket);
      if (isForAnybody) res.setHeader('Connection', 'close');
    }
    handle(req, res);
  };
  class Answer extends ServerResponse {
    /** Checked when the head is written, because the shutdown may have begun after the request arrived. */
    override writeHead(...head: unknown[]): this {
      if (isEnding() && !this.headersSent) this.setHeader('Connection', 'close');
      return (super.writeHead as (...given: unknown[]) => this)(...head);
    }

    /**
     * If the system did not take the whole answer, Node closes the connection when nothing is sent or received for that long.
     * After the answer, `keepAliveTimeout` holds again.
     */
    override end(...last: unknown[]): this {
      (super.end as (...given: unknown[]) => this)(...last);
      if (this.socket !== null && this.socket.writableLength > 0) this.socket.setTimeout(limits.unreadTimeoutMs);
      return this;
    }
  }
  const smallChunks = new PerSecond(MAX_SMALL_CHUNKS);
  const pipelined = new PerSecond(limits.maxPipelinedPerSecond);
  const exceeds = (counter: PerSecond, { remoteAddress = '' }: Socket) =>
    !isProxy(remoteAddress, 0) && counter.exceeds(remoteAddress);
  const closeFlood = (socket: Socket, reason: RefusalReason) => {
    if (socket.destroyed) return;
    onRefusedConnection(reason);
    const address = socket.remoteAddress ?? '';
    socket.destroy();
    addresses.close(address);
  };
  /**
   * Refuses bodies in very small chunks, and many small chunks of one address. Node keeps a Buffer of several hundred bytes for
   * each chunk, and one read of 64 KiB may contain 10,000 of them.
   */
  class Request extends IncomingMessage {
    #chunks = 0;
    #bytes = 0;

    /** Called by Node's parser with each chunk, and with null at the end. */
    override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
      if (chunk === null) return super.push(chunk, encoding);
      this.#chunks += 1;
      this.#bytes += chunk.length;
      const isFlood =
        (this.#chunks > FREE_CHUNKS && this.#bytes < this.#chunks * MIN_CHUNK_BYTES) ||
        (this.#chunks > FIRST_CHUNKS && chunk.length < SMALL_CHUNK_BYTES && exceeds(smallChunks, this.socket));
      if (isFlood) closeFlood(this.socket, 'chunks');
      return isFlood ? false : super.push(chunk, encoding);
    }
  }
  const server = createServer(
    {
      IncomingMessage: Request,
      ServerResponse: Answer,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      // Node's default is 30 s: a slow head could exceed its time by that much.
      connectionsCheckingInterval: limits.checkIntervalMs,
      maxHeaderSize: limits.maxHeaderBytes,
    },
    oneAtATime(
      (req, res) => {
        // rawHeaders alternates names and values.
        if (req.rawHeaders.length > 2 * limits.maxHeaders) res.writeHead(431, { Connection: 'close' }).end();
        else if (hasSeveralHosts(req)) res.writeHead(400, { Connection: 'close' }).end();
        else handleWithin(req, res);
      },
      {
        mayWait: (socket, waiting) => waiting < limits.maxPipelined && !exceeds(pipelined, socket),
        onTooMany: (socket) => closeFlood(socket, 'pipelining'),
      },
    ),
  );
  // Node drops headers beyond its limit silently. One of them could be If-Match, so the request is refused instead.
  server.maxHeadersCount = 0;
  const addresses = limitConnections(server, { limits, isProxy, onRefusedConnection, hasReserve: true });
  return server;
}

/**
 * Handles pipelined requests (RFC 9112, section 9.3.2) of a connection one after the other, each in its own turn of the event
 * loop. Node calls the listener for all of them at once, and one read of 64 KiB may contain 1,500 requests.
 *
 * @param mayWait whether one more request may wait, beside others of its connection
 * @param onTooMany called for each request that may not wait
 */
function oneAtATime(
  handle: RequestListener,
  options: { mayWait: (socket: Socket, waiting: number) => boolean; onTooMany: (socket: Socket) => void },
): RequestListener {
  return (req, res) => {
    const socket: QueuedSocket = req.socket;
    const start = () => {
      res.on('close', () => {
        const next = socket[WAITING]?.shift();
        if (next === undefined) socket[WAITING] = null;
        else setImmediate(next);
      });
      handle(req, res);
    };
    const queue = socket[WAITING];
    if (queue == null) {
      socket[WAITING] = [];
      start();
    } else if (options.mayWait(socket, queue.length)) {
      queue.push(() => {
        // Node removes the time limit of the earlier answer only if no request waits behind it.
        socket.setTimeout(0);
        start();
      });
    } else options.onTooMany(socket);
  };
}

/** The requests of a connection that wait for an earlier one. Null: none is being handled. */
const WAITING = Symbol('waiting requests');

type QueuedSocket = Socket & { [WAITING]?: (() => void)[] | null };

type LimitOptions = {
  limits: ConnectionLimits;
  /** Whether the last connections of an address are its reserve. New connections of the reserve are on trial. */
  hasReserve: boolean;
} & Required<Pick<HttpServerOptions, 'isProxy' | 'onRefusedConnection'>>;

type Addresses = {
  /** Closes all connections of an address, and refuses new ones for a second, unless it is a trusted proxy. */
  close: (address: string) => void;
  /** Whether a connection is in the reserve of its address, and has sent no request yet that may use it. */
  isOnTrial: (socket: Socket) => boolean;
  /** Ends the trial of a connection: others do not take its place any more. */
  keep: (socket: Socket) => void;
};

/** Limits the connections of a server, in total and for each address. */
export function limitConnections(server: NetServer, options: LimitOptions): Addresses {
  server.maxConnections = options.limits.maxConnections;
  server.on('drop', () => options.onRefusedConnection('process'));
  return limitAddresses(server, options);
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

/**
 * Closes further connections of an address at its limit, so that one host cannot hold all connections of the process. Behind
 * one address (NAT) there may be a whole office. So a connection of the reserve is on trial until it has sent a request that
 * may use the reserve. At the limit, a new connection replaces the one that has been on trial for longest. So idle connections
 * keep nobody out.
 */
function limitAddresses(
  server: NetServer,
  { limits: { maxConnectionsPerAddress }, hasReserve, isProxy, onRefusedConnection }: LimitOptions,
): Addresses {
  const open = new Map<string, Set<Socket>>();
  const trials = new Map<string, Set<Socket>>();
  const withoutTrial =
    maxConnectionsPerAddress - (hasReserve ? Math.floor(maxConnectionsPerAddress * RESERVED_PART) : 0);
  const networkOfSocket = new WeakMap<Socket, string>();
  const endTrial = (socket: Socket) => {
    const network = networkOfSocket.get(socket) ?? '';
    const trial = trials.get(network);
    if (trial?.delete(socket) && trial.size === 0) trials.delete(network);
  };
  const drop = (socket: Socket) => {
    onRefusedConnection('address');
    socket.destroy();
  };
  const flooding = new Set<string>();
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    if (isProxy(address, 0)) return;
    const network = networkOf(address);
    const sockets = open.get(network) ?? new Set();
    if (flooding.has(network)) return drop(socket);
    if (sockets.size >= maxConnectionsPerAddress) {
      const [oldest] = trials.get(network) ?? [];
      if (oldest === undefined) return drop(socket);
      endTrial(oldest);
      sockets.delete(oldest);
      drop(oldest);
    }
    if (sockets.size >= withoutTrial) {
      networkOfSocket.set(socket, network);
      trials.set(network, (trials.get(network) ?? new Set()).add(socket));
    }
    open.set(network, sockets.add(socket));
    socket.once('close', () => {
      endTrial(socket);
      sockets.delete(socket);
      if (sockets.size === 0) open.delete(network);
    });
  });
  return {
    close(address) {
      if (isProxy(address, 0)) return;
      const network = networkOf(address);
      flooding.add(network);
      setTimeout(() => flooding.delete(network), COOLDOWN_MS).unref();
      for (const socket of open.get(network) ?? []) socket.destroy();
    },
    isOnTrial: (socket) => trials.size > 0 && trials.get(networkOfSocket.get(socket) ?? '')?.has(socket) === true,
    keep: endTrial,
  };
}
