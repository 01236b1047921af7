import type { Http2Server, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { networkOf } from '../../http/rate-limits/limits.ts';

/** Calls of one address that are open or began in the current window. */
export const MAX_CALLS = 1000;

/**
 * Small frames of one address in a window: DATA, PING and SETTINGS. Each takes some 10 microseconds, and one read of 64 KiB may
 * contain 6,500 of them.
 */
const MAX_SMALL_FRAMES = 5000;

/** A DATA frame with at least this many bytes is not small. */
const SMALL_FRAME_BYTES = 1024;

const WINDOW_MS = 1000;

type FloodOptions = {
  isProxy: (address: string, hop: number) => boolean;
  /** Closes all connections of an address. */
  onFlood: (address: string) => void;
};

/**
 * Limits the calls and small frames of one address over all of its connections, because Node handles all frames of a read at once.
 * Streams that the client resets at once do not count for HTTP/2's limit of concurrent streams. Trusted proxies are exempt.
 *
 * Call it before the server has a listener for `request`: a call that exceeds a limit is destroyed before it is handled.
 */
export function closeFloods(server: Http2Server, { isProxy, onFlood }: FloodOptions): void {
  const openCalls = new Map<string, number>();
  let window = { ends: 0, calls: new Map<string, number>(), frames: new Map<string, number>() };
  const currentWindow = () => {
    const now = performance.now();
    if (now >= window.ends) window = { ends: now + WINDOW_MS, calls: new Map(), frames: new Map() };
    return window;
  };

  const countFrame = (session: ServerHttp2Session, address: string) => {
    if (add(currentWindow().frames, networkOf(address), 1) > MAX_SMALL_FRAMES) close(session, address);
  };
  const countCall = (stream: ServerHttp2Stream, session: ServerHttp2Session, address: string) => {
    const network = networkOf(address);
    const open = add(openCalls, network, 1);
    stream.once('close', () => {
      if (add(openCalls, network, -1) === 0) openCalls.delete(network);
    });
    if (Math.max(open, add(currentWindow().calls, network, 1)) > MAX_CALLS) close(session, address);
  };
  const close = (session: ServerHttp2Session, address: string) => {
    session.destroy();
    onFlood(address);
  };

  server.on('session', (session) => {
    const address = session.socket.remoteAddress ?? '';
    if (isProxy(address, 0)) return;
    session.on('ping', () => countFrame(session, address));
    session.on('remoteSettings', () => countFrame(session, address));
    session.on('stream', (stream: ServerHttp2Stream) => {
      countCall(stream, session, address);
      const { push } = stream;
      stream.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
        if (chunk !== null && chunk.length < SMALL_FRAME_BYTES) countFrame(session, address);
        return stream.destroyed ? false : push.call(stream, chunk, encoding);
      };
    });
  });
}

function add(counts: Map<string, number>, key: string, by: number): number {
  const count = (counts.get(key) ?? 0) + by;
  counts.set(key, count);
  return count;
}
