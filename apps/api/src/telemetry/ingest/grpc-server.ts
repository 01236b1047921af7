import { once } from 'node:events';
import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { limitConnections } from '../../http/http-server.ts';
import type { ConnectionLimits } from '../../http/messages/limits.ts';
import type { RefusalReason } from '../../platform/metrics.ts';
import { closeFloods } from './grpc-floods.ts';

type GrpcServer = {
  host: string;
  port: number;
  limits: ConnectionLimits;
  handle: (call: Http2ServerRequest, reply: Http2ServerResponse) => Promise<void>;
  isProxy: (address: string, hop: number) => boolean;
  onRefusedConnection: (reason: RefusalReason) => void;
  log: Logger;
};

/** The maximum number of concurrent calls of one connection. */
const MAX_STREAMS = 100;

/** How long a turn of the event loop begins calls. Node reads all calls of a connection at once. In milliseconds. */
const TURN_MS = 2;

/** How long calls in flight may take to finish when the service stops, in milliseconds. */
const GRACE_MS = 10_000;

/**
 * Listens for OTLP/gRPC: HTTP/2 without TLS, as gRPC clients use it with an `http://` address. If the port is taken, the
 * service starts without gRPC.
 *
 * @returns its URL, and a function that stops it after the calls in flight are answered. Null if the port is taken
 */
export async function startGrpcServer(options: GrpcServer): Promise<{ url: string; stop: () => Promise<void> } | null> {
  const { host, port, limits, handle, isProxy, onRefusedConnection, log } = options;
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({
    settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: limits.maxHeaderBytes },
    maxHeaderListPairs: limits.maxHeaders,
  });
  const addresses = limitConnections(server, { limits, isProxy, onRefusedConnection, hasReserve: false });
  closeFloods(server, {
    isProxy,
    onFlood: (address) => {
      onRefusedConnection('frames');
      addresses.close(address);
    },
  });
  const inTurns = turns();
  server.on('request', (call, reply) => {
    // Node applies this limit only after the client has acknowledged it.
    if (headerBytesOf(call) > limits.maxHeaderBytes) {
      reply.writeHead(431).end();
      return;
    }
    inTurns(() => {
      if (!call.stream.destroyed) void handle(call, reply);
    });
  });
  server.on('sessionError', () => {});
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    // Closes idle connections. Clients connect again when they have something to send.
    session.setTimeout(limits.keepAliveTimeoutMs, () => session.close());
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    log.warn({ err: error, port }, 'OTLP/gRPC is off: its port cannot be listened on');
    return null;
  }
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    stop: () => drain(server, sessions),
  };
}

/** The size of the headers of a call as HTTP/2 counts it: 32 bytes for each beside its text (RFC 9113, section 10.5.1). */
function headerBytesOf({ rawHeaders }: Http2ServerRequest): number {
  const characters = rawHeaders.reduce((sum, text) => sum + text.length, 0);
  return characters + (rawHeaders.length / 2) * 32;
}

/** Runs functions in their order, for at most {@link TURN_MS} in each turn of the event loop. */
function turns(): (run: () => void) => void {
  const waiting: (() => void)[] = [];
  const work = () => {
    const end = performance.now() + TURN_MS;
    let done = 0;
    do waiting[done++]?.();
    while (done < waiting.length && performance.now() < end);
    waiting.splice(0, done);
    if (waiting.length > 0) setImmediate(work);
  };
  return (run) => {
    if (waiting.push(run) === 1) setImmediate(work);
  };
}

/** Refuses new connections and calls (GOAWAY), and waits until the calls in flight are answered. */
async function drain(server: ReturnType<typeof createServer>, sessions: Set<ServerHttp2Session>): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  for (const session of sessions) session.close();
  const timer = setTimeout(() => {
    for (const session of sessions) session.destroy();
  }, GRACE_MS);
  await closed;
  clearTimeout(timer);
}
